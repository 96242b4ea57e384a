-- Appends client messages to mailboxes; drops ids seen before, refuses beyond an actor's bound.
-- KEYS  a section: meta, mail, older seen ids
-- ARGV  a section: bound, n, then n times: seen field of the id, depth field of the actor, body
-- returns a section: n times: sequence number (accepted) | text (duplicate: its reply, NO_REPLY without) |
--         {depth} (full)

local function append_section(keys, k, args, a, now, bells)
  local meta, mail, older = keys[k], keys[k + 1], keys[k + 2]
  local bound, n = tonumber(args[a]), tonumber(args[a + 1])
  local ids, fields = {}, { 'tail', 'gen_tail', 'gen_at', 'bell' }
  for i = 1, n do
    local id = args[a + i * 3 - 1]
    ids[i], fields[4 + i], fields[4 + n + i] = id, args[a + i * 3], id
  end
  local m = redis.call('HMGET', meta, unpack(fields))
  local seen = redis.call('HMGET', older, unpack(ids))
  local tail = tonumber(m[1] or 0)

  local results, depths, known = {}, {}, {}
  local set, bodies = { 'tail', '', 'bell', '' }, {}
  for i = 1, n do
    local id, field = ids[i], fields[4 + i]
    local reply = m[4 + n + i] or seen[i] or known[id]
    local depth = depths[field] or tonumber(m[4 + i] or 0)
    if reply then
      results[i] = reply
    elseif depth >= bound then
      results[i] = { depth }
    else
      depths[field] = depth + 1
      known[id] = NO_REPLY
      set[#set + 1], set[#set + 2] = id, NO_REPLY
      bodies[#bodies + 1] = args[a + i * 3 + 1]
      results[i] = tail + #bodies
    end
  end
  if #bodies == 0 then return results end

  age_ids(meta, older, tail, m[2], m[3], now, set)
  for i = 1, #bodies do add_entry(mail, tail + i, now, bodies[i]) end
  set[2] = int(tail + #bodies)
  for field, depth in pairs(depths) do set[#set + 1], set[#set + 2] = field, int(depth) end
  redis.call('HSET', meta, unpack(set))
  if m[4] and m[4] ~= '' then ring(bells, m[4], tail + 1, now, bodies) end
  return results
end

register('append', function(keys, args)
  local now, bells, results = now_ms(), {}, {}
  local k, a = 1, 3
  for s = 1, tonumber(args[1]) do
    results[s] = append_section(keys, k, args, a, now, bells)
    k, a = k + 3, a + 2 + 3 * tonumber(args[a + 1])
  end
  send_bells(args[2], bells)
  return results
end)
