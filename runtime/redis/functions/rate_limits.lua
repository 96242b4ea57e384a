-- Counters that all nodes share (runtime/rate-limits.ts): fixed windows by this server's clock.
-- KEYS  a section: one for each bound, a string `<window> <count>` that expires with its window
-- ARGV  a section: number of bounds, units, then limit and windowMs of each
-- `take` returns a section: {0} (taken) | {n, retry after ms} (bound n refused; nothing was taken)

-- Units taken in the current window. A count of the next window stays in force when the clock was set back a
-- little: starting again would let that window be filled twice.
local function counted(key, window)
  local at, count = string.match(redis.call('GET', key) or '', '^(%d+) (%d+)$')
  at = tonumber(at)
  if at == window or at == window + 1 then return at, tonumber(count) end
  return window, 0
end

local function take_section(keys, args, k, a, now)
  local bounds, units = tonumber(args[a]), tonumber(args[a + 1])
  local windows, counts, refusing, opens = {}, {}, 0, 0
  for n = 1, bounds do
    local limit, length = tonumber(args[a + n * 2]), tonumber(args[a + n * 2 + 1])
    local window, count = counted(keys[k + n - 1], math.floor(now / length))
    local ends = (window + 1) * length
    windows[n], counts[n] = window, count
    -- When several bounds refuse, the one whose window ends last gives the time to retry.
    if count + units > limit and ends > opens then refusing, opens = n, ends end
  end
  if refusing > 0 then return { refusing, opens - now } end
  for n = 1, bounds do
    local ends = (windows[n] + 1) * tonumber(args[a + n * 2 + 1])
    redis.call('SET', keys[k + n - 1], int(windows[n]) .. ' ' .. int(counts[n] + units), 'PXAT', int(ends))
  end
  return { 0 }
end

register('take', function(keys, args)
  local now, results, k, a = now_ms(), {}, 1, 3
  for s = 1, tonumber(args[1]) do
    results[s] = take_section(keys, args, k, a, now)
    local bounds = tonumber(args[a])
    k, a = k + bounds, a + 2 + bounds * 2
  end
  return results
end)

-- `counts` reads the units taken in the current windows, and takes none.
-- ARGV  a section: number of bounds, then windowMs of each
-- returns a section: for each bound the units taken, and the end of its window (Unix ms)
register('counts', function(keys, args)
  local now, results, k, a = now_ms(), {}, 1, 3
  for s = 1, tonumber(args[1]) do
    local bounds, reply = tonumber(args[a]), {}
    for n = 1, bounds do
      local length = tonumber(args[a + n])
      local window, count = counted(keys[k + n - 1], math.floor(now / length))
      reply[n * 2 - 1], reply[n * 2] = count, (window + 1) * length
    end
    results[s] = reply
    k, a = k + bounds, a + 1 + bounds
  end
  return results
end)
