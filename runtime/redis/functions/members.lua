-- Node leases: who is there (design P2). Also under memory pressure: flag allow-oom.
-- KEYS  a section of all functions: members, a hash of node → `until\nincarnation\ncard`; announce and retire: calls of
--       each process (_call_order.lua)

local MEMBER = '^(%d+)\n([^\n]*)\n(.*)$'
-- A row that ran out may be extended by its own life, so it stays for a while.
local FORGET_AFTER_MS = 3600000

local function read_member(row)
  local due, incarnation, card = string.match(row or '', MEMBER)
  return tonumber(due), incarnation, card
end

local function forget_old(key, now)
  local rows = redis.call('HGETALL', key)
  for i = 1, #rows, 2 do
    local due = read_member(rows[i + 1])
    if not due or due + FORGET_AFTER_MS < now then redis.call('HDEL', key, rows[i]) end
  end
end

-- ARGV  a section: node, incarnation, card, ttlMs, first (1 | 0), caller, number of its call
-- returns a section: 1 | 0 (the lease is not this life's any more) | -1 (late)
register('announce', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local key, a = keys[s * 2 - 1], s * 7 - 4
    local node, incarnation, first = args[a], args[a + 1], args[a + 4] == '1'
    local _, holder = read_member(redis.call('HGET', key, node) or nil)
    local late = not is_in_order(keys[s * 2], 'announce ' .. args[a + 5], args[a + 6], now)
    local own = not late and (first or holder == incarnation)
    if first then forget_old(key, now) end
    if own then
      lease_term = tonumber(args[a + 3])
      local due = int(now + lease_term)
      redis.call('HSET', key, node, table.concat({ due, incarnation, args[a + 2] }, '\n'))
      wrote(key, node, now)
    end
    results[s] = late and -1 or own and 1 or 0
  end
  return results
end, { 'allow-oom' })

-- Extends a node lease and leaves its card as it is: for a node whose event loop is held up.
-- ARGV  a section: node, incarnation, ttlMs
-- returns a section: 1 | 0 (the lease is not this life's any more)
register('extend', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local key, node, incarnation = keys[s], args[s * 3], args[s * 3 + 1]
    local _, holder, card = read_member(redis.call('HGET', key, node) or nil)
    local own = holder == incarnation
    if own then
      lease_term = tonumber(args[s * 3 + 2])
      redis.call('HSET', key, node, table.concat({ int(now + lease_term), incarnation, card }, '\n'))
      wrote(key, node, now)
    end
    results[s] = own and 1 or 0
  end
  return results
end, { 'allow-oom' })

-- ARGV  a section: node, incarnation, caller, number of its call
-- returns a section: 1 (ended) | 0 (that life does not hold it) | -1 (late)
register('retire', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local key, a = keys[s * 2 - 1], s * 4 - 1
    local node, incarnation = args[a], args[a + 1]
    local _, holder = read_member(redis.call('HGET', key, node) or nil)
    local late = not is_in_order(keys[s * 2], 'retire ' .. args[a + 2], args[a + 3], now)
    local own = not late and holder == incarnation
    if own then redis.call('HDEL', key, node) end
    results[s] = late and -1 or own and 1 or 0
  end
  return results
end, { 'allow-oom' })

-- When a server went away whose memory of that is gone: those that were there had renewed within one term of the last.
local function gone_at_of(key, rows)
  local last = 0
  for i = 1, #rows, 2 do
    local due = read_member(rows[i + 1])
    if due and not written[key .. '\n' .. rows[i]] then last = math.max(last, due) end
  end
  return last - lease_term
end

-- ARGV  a section: ttlMs of the caller's own lease, for a server that has not seen one since it was started
-- returns a section: node, incarnation, card, remaining ms of each whose lease has not run out
register('members', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    if not heard_at then lease_term = tonumber(args[s + 2]) end
    local rows, found = redis.call('HGETALL', keys[s]), {}
    local gone = gone_at_of(keys[s], rows)
    for i = 1, #rows, 2 do
      local due, incarnation, card = read_member(rows[i + 1])
      if due then due = due_of(keys[s], rows[i], due, now, gone) end
      if due and due > now then
        local n = #found
        found[n + 1], found[n + 2], found[n + 3], found[n + 4] = rows[i], incarnation, card, int(due - now)
      end
    end
    results[s] = found
  end
  return results
end, { 'no-writes' })
