-- Node leases: the live nodes (P2). Also under memory pressure: flag allow-oom.
-- KEYS  a section of all functions: members, a hash of node → `until\nincarnation\ncard`; announce and retire: calls of
--       each process (_call_order.lua), due, version; extend and look: due, version. `due` is a sorted set of node → until, of
--       the live nodes whose programs maintain it; `version` grows with each change of the live nodes.

local MEMBER = '^(%d+)\n([^\n]*)\n(.*)$'
-- An expired row may still be extended by its own incarnation, so it stays for a while.
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

-- Start of an outage that this server does not remember: the live nodes had renewed within one term of the latest renewal.
local function gone_at_of(key, rows)
  local last = 0
  for i = 1, #rows, 2 do
    local due = read_member(rows[i + 1])
    if due and not written[key .. '\n' .. rows[i]] then last = math.max(last, due) end
  end
  return last - lease_term
end

-- Node, incarnation, card and remaining ms of each lease that has not expired.
local function live_members(key, now)
  local rows, found = redis.call('HGETALL', key), {}
  local gone = gone_at_of(key, rows)
  for i = 1, #rows, 2 do
    local due, incarnation, card = read_member(rows[i + 1])
    if due then due = due_of(key, rows[i], due, now, gone) end
    if due and due > now then
      local n = #found
      found[n + 1], found[n + 2], found[n + 3], found[n + 4] = rows[i], incarnation, card, int(due - now)
    end
  end
  return found
end

-- Removes nodes from `due` that are no longer alive, once the first of them is due.
local function settle_due(key, due, version, now)
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  if not first[2] or tonumber(first[2]) > now then return end
  local found, there, gone = live_members(key, now), {}, {}
  for i = 1, #found, 4 do there[found[i]] = true end
  local late = redis.call('ZRANGEBYSCORE', due, '-inf', now)
  for i = 1, #late do
    if not there[late[i]] then gone[#gone + 1] = late[i] end
  end
  if #gone == 0 then return end
  variadic('ZREM', due, gone, 1, #gone)
  redis.call('INCR', version)
end

-- Writes or extends the lease of a node, with its card (its description for the other nodes).
-- ARGV  a section: node, incarnation, card, ttlMs, first (1 | 0), caller, number of its call
-- returns a section: 1 | 0 (the lease is not this life's any more) | -1 (late)
register('announce', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 4 - 3, s * 7 - 4
    local key, node, incarnation, first = keys[k], args[a], args[a + 1], args[a + 4] == '1'
    local _, holder, card = read_member(redis.call('HGET', key, node) or nil)
    local late = not is_in_order(keys[k + 1], 'announce ' .. args[a + 5], args[a + 6], now)
    local own = not late and (first or holder == incarnation)
    if first then forget_old(key, now) end
    if own then
      lease_term = tonumber(args[a + 3])
      local due = int(now + lease_term)
      redis.call('HSET', key, node, table.concat({ due, incarnation, args[a + 2] }, '\n'))
      local came = redis.call('ZADD', keys[k + 2], due, node) == 1
      if came or holder ~= incarnation or card ~= args[a + 2] then redis.call('INCR', keys[k + 3]) end
      wrote(key, node, now)
      settle_due(key, keys[k + 2], keys[k + 3], now)
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
    local key, due, node, incarnation = keys[s * 3 - 2], keys[s * 3 - 1], args[s * 3], args[s * 3 + 1]
    local _, holder, card = read_member(redis.call('HGET', key, node) or nil)
    local own = holder == incarnation
    if own then
      lease_term = tonumber(args[s * 3 + 2])
      redis.call('HSET', key, node, table.concat({ int(now + lease_term), incarnation, card }, '\n'))
      if redis.call('ZADD', due, int(now + lease_term), node) == 1 then redis.call('INCR', keys[s * 3]) end
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
    local k, a = s * 4 - 3, s * 4 - 1
    local key, node, incarnation = keys[k], args[a], args[a + 1]
    local _, holder = read_member(redis.call('HGET', key, node) or nil)
    local late = not is_in_order(keys[k + 1], 'retire ' .. args[a + 2], args[a + 3], now)
    local own = not late and holder == incarnation
    if own then
      redis.call('HDEL', key, node)
      redis.call('ZREM', keys[k + 2], node)
      redis.call('INCR', keys[k + 3])
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

-- Ms until the first lease of another node expires; '' for none.
local function soonest_of(due, node, now)
  local first = redis.call('ZRANGE', due, 0, 1, 'WITHSCORES')
  local i = first[1] == node and 3 or 1
  return first[i] and int(math.max(0, tonumber(first[i + 1]) - now)) or ''
end

-- Reads the live nodes, at a cost that does not depend on their number while the version is the known one. All rows are read when the version has
-- changed, when a lease expired, and while nodes are alive whose programs do not maintain `due`. Another life of the server has another
-- version, because it may have lost changes.
-- ARGV  a section: ttlMs of the caller's own lease, node, version it knows
-- returns a section: version or '', ms until the first lease of another node runs out or '', then as `members`, unless the version is known
register('look', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 3 - 2, s * 3
    local key, due, node, known = keys[k], keys[k + 1], args[a + 1], args[a + 2]
    local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
    local version = (redis.call('GET', keys[k + 2]) or '0') .. ' ' .. server_life()
    if known == version and first[2] and tonumber(first[2]) > now then
      results[s] = { known, soonest_of(due, node, now) }
    else
      if not heard_at then lease_term = tonumber(args[a]) end
      local found, soonest = live_members(key, now), math.huge
      for i = 1, #found, 4 do
        if found[i] ~= node then soonest = math.min(soonest, tonumber(found[i + 3])) end
      end
      local is_whole = redis.call('ZCARD', due) == #found / 4 and redis.call('ZCOUNT', due, int(now + 1), '+inf') == #found / 4
      results[s] = { is_whole and version or '', soonest < math.huge and int(soonest) or '' }
      for i = 1, #found do results[s][i + 2] = found[i] end
    end
  end
  return results
end, { 'no-writes' })
