-- Node leases: the live nodes (P2). Also under memory pressure: flag allow-oom.
-- KEYS  a section of all functions: members, a hash of node → `until\nincarnation\ncard`; announce and retire: calls of
--       each process (_call_order.lua); all but members: due, version, changes. `due` is a sorted set of node → until, of
--       the live nodes whose programs maintain it; `version` grows with each change of the live nodes; `changes` is a list of
--       `version\nnode`, the latest changes. Programs of earlier releases count a change and do not write it into the list.

local MEMBER = '^(%d+)\n([^\n]*)\n(.*)$'
local CHANGE = '^(%d+)\n(.*)$'
-- An expired row may still be extended by its own incarnation, so it stays for a while.
local FORGET_AFTER_MS = 3600000
-- A node that knows an older version reads all rows.
local KEPT_CHANGES = 4096

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

-- Members → when the last lease in them was due at their first call in this life of the server. Later renewals must not change what
-- counts as the start of the outage, or a node that died before it would come back.
local last_due = {}

-- Start of an outage that this server does not remember: the live nodes had renewed within one term of the latest renewal.
-- Each function that writes a lease calls it before.
local function gone_at_of(key, now)
  local away = is_silent(now)
  local went = away and (heard_at or 0) or gone_at
  if went > 0 or (not away and now >= back_at + lease_term) then return 0 end
  if not last_due[key] then
    local rows, last = redis.call('HGETALL', key), 0
    for i = 1, #rows, 2 do
      local due = read_member(rows[i + 1])
      if due and not written[key .. '\n' .. rows[i]] then last = math.max(last, due) end
    end
    last_due[key] = last
  end
  return last_due[key] - lease_term
end

-- Node, incarnation, card and remaining ms of each lease that has not expired.
local function live_members(key, now)
  local rows, found = redis.call('HGETALL', key), {}
  local gone = gone_at_of(key, now)
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

local function note_change(version, changes, node)
  redis.call('RPUSH', changes, int(redis.call('INCR', version)) .. '\n' .. node)
  redis.call('LTRIM', changes, -KEPT_CHANGES, -1)
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

-- Whether `due` holds live nodes only, and ms until the first lease of another node expires ('' for none).
local function first_end(key, due, node, now)
  local rows, gone = redis.call('ZRANGE', due, 0, 1, 'WITHSCORES'), 0
  if rows[2] and tonumber(rows[2]) <= now then
    rows, gone = redis.call('ZRANGEBYSCORE', due, '-inf', int(now), 'WITHSCORES'), gone_at_of(key, now)
    local later = redis.call('ZRANGEBYSCORE', due, '(' .. int(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 2)
    for i = 1, #later do rows[#rows + 1] = later[i] end
  end
  local is_settled, soonest = true, math.huge
  for i = 1, #rows, 2 do
    local ends = tonumber(rows[i + 1])
    if ends <= now then ends = due_of(key, rows[i], ends, now, gone) end
    if ends <= now then
      is_settled = false
    elseif rows[i] ~= node then
      soonest = math.min(soonest, ends - now)
    end
  end
  return is_settled, soonest < math.huge and int(soonest) or ''
end

-- The nodes that changed after version `from`, up to version `to`. Nil when `changes` lacks one of these changes: it is too old, or a
-- program of an earlier release made it.
local function changed_nodes(changes, from, to)
  local rows, nodes, seen = redis.call('LRANGE', changes, int(from - to), -1), {}, {}
  if #rows ~= to - from then return nil end
  for i = 1, #rows do
    local number, node = string.match(rows[i], CHANGE)
    if tonumber(number) ~= from + i then return nil end
    if not seen[node] then seen[node], nodes[#nodes + 1] = true, node end
  end
  return nodes
end

-- Appends the present row of each node to a result. A node that is no longer a member has an empty incarnation.
local function add_rows(result, key, due, nodes)
  if #nodes == 0 then return result end
  local rows, scores = redis.call('HMGET', key, unpack(nodes)), redis.call('ZMSCORE', due, unpack(nodes))
  for i = 1, #nodes do
    local _, incarnation, card = read_member(scores[i] and rows[i] or nil)
    local n = #result
    result[n + 1], result[n + 2], result[n + 3] = nodes[i], incarnation or '', card or ''
  end
  return result
end

local function all_rows(key, due, version, node, is_settled, now)
  local found, soonest = live_members(key, now), math.huge
  local is_whole = is_settled and redis.call('ZCARD', due) == #found / 4
  local result = { is_whole and version or '', '', 'all' }
  for i = 1, #found, 4 do
    if found[i] ~= node then soonest = math.min(soonest, tonumber(found[i + 3])) end
    local n = #result
    result[n + 1], result[n + 2], result[n + 3] = found[i], found[i + 1], found[i + 2]
  end
  if soonest < math.huge then result[2] = int(soonest) end
  return result
end

-- Reads what changed of the live nodes since the version that the caller knows: nothing while it is the present one, else a row of each
-- node that changed. All rows are read when these changes are not known or more than the members, before an expired lease is
-- removed, and while nodes are alive whose programs do not maintain `due`. Another life of the server has another version, because
-- it may have lost changes.
-- ARGV  a section: ttlMs of the caller's own lease, node, version it knows
-- returns a section: version or '', ms until the first lease of another node runs out or '', 'all' | 'since', then node, incarnation and
--         card of each; of 'since' an empty incarnation is that of a node which is no longer a member
register('look', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 4 - 3, s * 3
    local key, due, node = keys[k], keys[k + 1], args[a + 1]
    if not heard_at then lease_term = tonumber(args[a]) end
    local is_settled, soonest = first_end(key, due, node, now)
    local at, life = tonumber(redis.call('GET', keys[k + 2]) or 0), server_life()
    local version, known = int(at) .. ' ' .. life, args[a + 2]
    local from, known_life = string.match(known, '^(%d+) (.*)$')
    local size, nodes = redis.call('ZCARD', due), nil
    from = tonumber(from)
    if known_life == life and is_settled and size > 0 and from <= at and at - from <= size then
      nodes = from == at and {} or changed_nodes(keys[k + 3], from, at)
    end
    results[s] = nodes and add_rows({ version, soonest, 'since' }, key, due, nodes)
      or all_rows(key, due, version, node, is_settled, now)
  end
  return results
end, { 'no-writes' })
