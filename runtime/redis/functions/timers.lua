-- Moves due timers into the mailbox, oldest first.
-- KEYS  a section: meta, mail, timers, timer bodies
-- ARGV  a section: fence
-- returns a section: due time of the next timer, '' when there is none or the lease is lost

local FIRE_LIMIT = 256

local function fire_section(meta, mail, timers, bodies, fence, prefix, now, bells)
  local m = redis.call('HMGET', meta, 'tail', 'bell', 'fence', 'log')
  if m[3] ~= fence then return '' end
  local due = redis.call('ZRANGEBYSCORE', timers, '-inf', int(now), 'LIMIT', 0, FIRE_LIMIT)
  if #due > 0 then
    local texts, fired = redis.call('HMGET', bodies, unpack(due)), {}
    local box = box_of(prefix, meta, mail, nil, m[4])
    local b = box.log and redis.call('HMGET', box.meta, 'tail', 'bell') or m
    local tail = tonumber(b[1] or 0)
    for i = 1, #due do
      if texts[i] then
        fired[#fired + 1] = texts[i]
        add_entry(box.mail, tail + #fired, now, texts[i], nil, box.partition)
      end
    end
    redis.call('ZREM', timers, unpack(due))
    redis.call('HDEL', bodies, unpack(due))
    if #fired > 0 then
      redis.call('HSET', box.meta, 'tail', int(tail + #fired), 'bell', '')
      ring(bells, b[2], tail + 1, now, fired, box.partition)
    end
  end
  return redis.call('ZRANGE', timers, 0, 0, 'WITHSCORES')[2] or ''
end

register('fire_timers', function(keys, args)
  local now, bells, results = now_ms(), {}, {}
  for s = 1, tonumber(args[1]) do
    local k = s * 4 - 3
    results[s] = fire_section(keys[k], keys[k + 1], keys[k + 2], keys[k + 3], args[s + 2], args[2], now, bells)
  end
  send_bells(args[2], bells)
  return results
end)

-- Reads the clock of a partition's server, which decides when its timers are due.
-- KEYS  a section: meta
-- returns a section: Unix ms
register('now', function(_, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do results[s] = now end
  return results
end, { 'no-writes' })
