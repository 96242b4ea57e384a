-- Reads of the members by the nodes, at their renewals and after a hint (_member_rows.lua).

local CHANGE = '^(%d+)\n([^\n]*)\n(.*)$'

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

-- The nodes that changed after version `from`, up to version `to`. Nil when `changes` lacks one of these changes (it is too old, or a
-- program of an earlier release made it), or when `from` is a change that this server lost: the one of its number was made in another
-- life than `life`.
local function changed_nodes(changes, from, to, life)
  local is_present = life == life_of_changes()
  if is_present and from == to then return {} end
  local rows, nodes, seen = redis.call('LRANGE', changes, int(from - to - 1), -1), {}, {}
  local first = to - #rows + 1
  -- The change `from` itself may be forgotten: in the same life it is the one that the caller knows.
  if first > from + 1 or (first > from and not is_present) then return nil end
  for i = 1, #rows do
    local number, made_in, node = string.match(rows[i], CHANGE)
    if tonumber(number) ~= first + i - 1 then return nil end
    if first + i - 1 == from then
      if made_in ~= life then return nil end
    elseif not seen[node] then
      seen[node], nodes[#nodes + 1] = true, node
    end
  end
  return nodes
end

-- The version with the life of its change: of the present one when the change is not in the list.
local function full_version(changes, at)
  local number, life = string.match(redis.call('LINDEX', changes, -1) or '', CHANGE)
  return int(at) .. ' ' .. (tonumber(number) == at and life or life_of_changes())
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
-- node that changed. All rows are read when these changes are not known, lost or more than the members, before an expired lease is
-- removed, and while nodes are alive whose programs do not maintain `due`. A version has the life of the server in which its change was
-- made: a server that restarted has it too, unless it lost the change.
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
    local at, size, nodes = tonumber(redis.call('GET', keys[k + 2]) or 0), redis.call('ZCARD', due), nil
    local version = full_version(keys[k + 3], at)
    local from, life = string.match(args[a + 2], '^(%d+) (.*)$')
    from = tonumber(from)
    if from and is_settled and size > 0 and from <= at and at - from <= size then
      nodes = changed_nodes(keys[k + 3], from, at, life)
    end
    results[s] = nodes and add_rows({ version, soonest, 'since' }, key, due, nodes)
      or all_rows(key, due, version, node, is_settled, now)
  end
  return results
end, { 'no-writes' })
