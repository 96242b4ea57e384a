-- Leases of nodes: functions that write them, and the one that reads all (_member_rows.lua). Also under memory pressure: flag allow-oom.

-- An expired row may still be extended by its own incarnation, so it stays for a while.
local FORGET_AFTER_MS = 3600000

local function forget_old(key, now)
  local rows = redis.call('HGETALL', key)
  for i = 1, #rows, 2 do
    local due = read_member(rows[i + 1])
    if not due or due + FORGET_AFTER_MS < now then redis.call('HDEL', key, rows[i]) end
  end
end

-- Removes nodes from `due` that are no longer alive, once the first of them is due.
local function settle_due(key, due, version, changes, now)
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  if not first[2] or tonumber(first[2]) > now then return end
  local late, gone = redis.call('ZRANGEBYSCORE', due, '-inf', int(now), 'WITHSCORES'), gone_at_of(key, now)
  for i = 1, #late, 2 do
    if due_of(key, late[i], tonumber(late[i + 1]), now, gone) <= now then
      redis.call('ZREM', due, late[i])
      note_change(version, changes, late[i])
    end
  end
end

-- Writes or extends the lease of a node, with its card (its description for the other nodes).
-- ARGV  a section: node, incarnation, card, ttlMs, first (1 | 0), caller, number of its call
-- returns a section: 1 | 0 (the lease is not this life's any more) | -1 (late)
register('announce', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 5 - 4, s * 7 - 4
    local key, node, incarnation, first = keys[k], args[a], args[a + 1], args[a + 4] == '1'
    local due_key, version, changes = keys[k + 2], keys[k + 3], keys[k + 4]
    local _, holder, card = read_member(redis.call('HGET', key, node) or nil)
    local late = not is_in_order(keys[k + 1], 'announce ' .. args[a + 5], args[a + 6], now)
    local own = not late and (first or holder == incarnation)
    if first then forget_old(key, now) end
    if own then
      lease_term = tonumber(args[a + 3])
      gone_at_of(key, now)
      local due = int(now + lease_term)
      redis.call('HSET', key, node, table.concat({ due, incarnation, args[a + 2] }, '\n'))
      local came = redis.call('ZADD', due_key, due, node) == 1
      -- A renewal alone is no change.
      if came or holder ~= incarnation or card ~= args[a + 2] then note_change(version, changes, node) end
      wrote(key, node, now)
      settle_due(key, due_key, version, changes, now)
    end
    results[s] = late and -1 or own and 1 or 0
  end
  return results
end, { 'allow-oom' })

-- Extends a node lease without changing its card: for a node whose event loop is blocked.
-- ARGV  a section: node, incarnation, ttlMs
-- returns a section: 1 | 0 (the lease is not this life's any more)
register('extend', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local k, key, node, incarnation = s * 4 - 3, keys[s * 4 - 3], args[s * 3], args[s * 3 + 1]
    local _, holder, card = read_member(redis.call('HGET', key, node) or nil)
    local own = holder == incarnation
    if own then
      lease_term = tonumber(args[s * 3 + 2])
      gone_at_of(key, now)
      redis.call('HSET', key, node, table.concat({ int(now + lease_term), incarnation, card }, '\n'))
      local came = redis.call('ZADD', keys[k + 1], int(now + lease_term), node) == 1
      if came then note_change(keys[k + 2], keys[k + 3], node) end
      wrote(key, node, now)
    end
    results[s] = own and 1 or 0
  end
  return results
end, { 'allow-oom' })

-- Ends the lease of a node that leaves.
-- ARGV  a section: node, incarnation, caller, number of its call
-- returns a section: 1 (ended) | 0 (that life does not hold it) | -1 (late)
register('retire', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 5 - 4, s * 4 - 1
    local key, node, incarnation = keys[k], args[a], args[a + 1]
    local _, holder = read_member(redis.call('HGET', key, node) or nil)
    local late = not is_in_order(keys[k + 1], 'retire ' .. args[a + 2], args[a + 3], now)
    local own = not late and holder == incarnation
    if own then
      redis.call('HDEL', key, node)
      redis.call('ZREM', keys[k + 2], node)
      note_change(keys[k + 3], keys[k + 4], node)
    end
    results[s] = late and -1 or own and 1 or 0
  end
  return results
end, { 'allow-oom' })

-- Reads the live nodes.
-- ARGV  a section: ttlMs of the caller's own lease, for a server that has not seen one since it was started
-- returns a section: node, incarnation, card, remaining ms of each whose lease has not run out
register('members', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    if not heard_at then lease_term = tonumber(args[s + 2]) end
    results[s] = live_members(keys[s], now)
  end
  return results
end, { 'no-writes' })
