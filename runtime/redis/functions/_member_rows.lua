-- Node leases: the live nodes (P2).
-- KEYS  a section of all functions: members, a hash of node → `until\nincarnation\ncard`; announce and retire: calls of
--       each process (_call_order.lua); all but members: due, version, changes. `due` is a sorted set of node → until, of
--       the live nodes whose programs maintain it; `version` grows with each change of the live nodes; `changes` is a list of
--       `version\nlife\nnode`, the latest changes. Programs of earlier releases count a change and do not write it into the list.

local MEMBER = '^(%d+)\n([^\n]*)\n(.*)$'
-- A node that knows an older version reads all rows.
local KEPT_CHANGES = 4096

local function read_member(row)
  local due, incarnation, card = string.match(row or '', MEMBER)
  return tonumber(due), incarnation, card
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

-- The life of the server in a change, shortened. A server that lost changes uses their numbers again, in another life.
local function life_of_changes()
  return (string.gsub(server_life(), '%x+', function(id) return #id == 40 and string.sub(id, 1, 8) or nil end))
end

local function note_change(version, changes, node)
  redis.call('RPUSH', changes, int(redis.call('INCR', version)) .. '\n' .. life_of_changes() .. '\n' .. node)
  redis.call('LTRIM', changes, -KEPT_CHANGES, -1)
end
