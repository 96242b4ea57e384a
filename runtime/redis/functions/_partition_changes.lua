-- The changes of a commit in one partition: keys, checks, writes; see commit.lua for the groups.

-- Assigns names to the keys of a part, which begin at `k`; returns the index behind them.
local function name_keys(part, keys, args, k)
  local from = part.from
  if from.E then from.e, part.to.e = from.E, part.to.E end
  part.name, part.meta, part.states, part.held = args[from['@']], keys[k], keys[k + 1], keys[k + 2]
  k = k + 3
  if from.t or from.c then part.timers, part.timer_bodies, k = keys[k], keys[k + 1], k + 2 end
  if from.f or from.x or from.q then part.effects, part.effect_bodies, k = keys[k], keys[k + 1], k + 2 end
  if from.o or from.s then part.outbox, k = keys[k], k + 1 end
  if from.w or from.u then part.postponed, k = keys[k], k + 1 end
  if from.e then
    part.events, k = k, k + 1
    local i = from.e
    while i <= part.to.e do
      k, i = k + 1, i + 3 + tonumber(args[i + 2])
    end
  end
  return k
end

-- Checks all conditions before the first write. Returns nil, or the answer for the condition that does not hold.
local function check_part(part, keys, args)
  if part.from.q and not all_running(part.effects, args, part.from.q, part.to.q) then return 2 end
  if part.from.e then
    part.tails = event_tails(keys[part.events], args, part.from.e, part.to.e)
    if not part.tails then return 0 end
  end
  return nil
end

-- Messages to partitions of the same log go into its mailbox, unless their sender owes something (order is kept) or the log is
-- closed (another holder may have taken them).
local function send_within(part, args, mail, tail, now, shares, owing)
  local owed = {}
  for i = part.from.s, part.to.s, 2 do
    if owing and args[i] ~= part.name then
      owed[#owed + 1], owed[#owed + 2] = args[i], args[i + 1]
    else
      tail = tail + 1
      add_entry(mail, tail, now, args[i + 1], nil, shares and args[i] or nil)
    end
  end
  return tail, owed
end

-- Returns the number of the mailbox's last entry, and whether the partition owes messages to others.
local function write_sends(part, args, mail, tail, now, shares, closed)
  local from, to = part.from, part.to
  local m = redis.call('HMGET', part.meta, 'owed', 'out')
  local owed, last, more = tonumber(m[1] or 0), tonumber(m[2] or 0), {}
  if from.s then tail, more = send_within(part, args, mail, tail, now, shares, owed > 0 or closed) end
  if from.o then
    for i = from.o, to.o do more[#more + 1] = args[i] end
  end
  if #more > 0 then
    owed = owed + #more / 2
    last = owe(part.outbox, last, more, 1, #more, now)
    redis.call('HSET', part.meta, 'owed', int(owed), 'out', int(last))
  end
  return tail, owed > 0
end

-- Writes postponed messages, whose actors load slowly. They keep the numbers that they had in the log.
local function write_postponed(key, args, from, to)
  if from.u then
    for i = from.u, to.u do redis.call('XDEL', key, args[i] .. '-0') end
    if redis.call('XLEN', key) == 0 then redis.call('DEL', key) end
  end
  if not from.w then return end
  for i = from.w, to.w, 3 do redis.call('XADD', key, args[i] .. '-0', 'a', args[i + 1], 'b', args[i + 2]) end
end

local function write_part(part, keys, args, log_meta, now, out)
  local from, to = part.from, part.to
  if from.q then close_effects(part.effects, part.effect_bodies, args, from.q, to.q) end
  if from.r then variadic('HSET', part.states, args, from.r, to.r) end
  if from.d then variadic('HDEL', part.states, args, from.d, to.d) end
  if from.H then hold_back(part.meta, log_meta, part.held, args, from.H, to.H) end
  if from.k then variadic('HSET', part.meta, args, from.k, to.k) end
  if from.e then write_events(keys, part.events, args, from.e, to.e, out.prefix, part.tails, from.E ~= nil) end
  if from.c then
    variadic('ZREM', part.timers, args, from.c, to.c)
    variadic('HDEL', part.timer_bodies, args, from.c, to.c)
  end
  if from.t then set_timers(part.timers, part.timer_bodies, args, from.t, to.t, now) end
  if part.postponed then write_postponed(part.postponed, args, from, to) end
  if from.f then open_effects(part.effects, part.effect_bodies, args, from.f, to.f, now) end
  if from.x then
    variadic('HDEL', part.effects, args, from.x, to.x)
    variadic('HDEL', part.effect_bodies, args, from.x, to.x)
    for i = from.x, to.x do out.cancelled[#out.cancelled + 1] = args[i] end
  end
end

-- Partitions of the section that owe messages, among those that were checked.
local function owing_of(parts)
  local names = {}
  for i = 2, #parts do
    if parts[i].owes then names[#names + 1] = parts[i].name end
  end
  return table.concat(names, ',')
end
