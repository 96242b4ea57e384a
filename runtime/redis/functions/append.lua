-- Appends client messages to mailboxes; drops ids seen before, refuses beyond an actor's bound.
-- KEYS  a section: meta, mail, seen 0, seen 1
-- ARGV  a section: bound, n, then n times: id, depth field of the actor in meta, body
-- returns a section: n times: sequence number (accepted) | text (duplicate: its reply, NO_REPLY without) |
--         {depth} (full)

-- The generation that takes new ids, as 0 or 1, how many it holds and when it began. Replaces the older when due.
local function generation(seen, meta, gen, count, began, now)
  if count < GENERATION_IDS and now - began < GENERATION_MS then return gen, count, began end
  local other = 1 - gen
  redis.call('UNLINK', seen[other])
  return other, 0, now
end

local function append_section(keys, k, args, a, now, bells)
  local meta, mail = keys[k], keys[k + 1]
  local seen = { [0] = keys[k + 2], [1] = keys[k + 3] }
  local bound, n = tonumber(args[a]), tonumber(args[a + 1])
  local ids, fields = {}, { 'tail', 'gen', 'gen_n', 'gen_at', 'rung', 'node', 'name' }
  for i = 1, n do
    ids[i] = args[a + i * 3 - 1]
    fields[7 + i] = args[a + i * 3]
  end
  local m = redis.call('HMGET', meta, unpack(fields))
  local tail = tonumber(m[1] or 0)
  local gen, count, began = tonumber(m[2] or 0), tonumber(m[3] or 0), tonumber(m[4] or now)
  local newer = redis.call('HMGET', seen[gen], unpack(ids))
  local older = redis.call('HMGET', seen[1 - gen], unpack(ids))

  local results, depths, known = {}, {}, {}
  local fresh, accepted = {}, 0
  for i = 1, n do
    local id, field = ids[i], fields[7 + i]
    local reply = newer[i] or older[i] or known[id]
    local depth = depths[field] or tonumber(m[7 + i] or 0)
    if reply then
      results[i] = reply
    elseif depth >= bound then
      results[i] = { depth }
    else
      accepted = accepted + 1
      depths[field] = depth + 1
      known[id] = NO_REPLY
      fresh[accepted * 2 - 1], fresh[accepted * 2] = id, NO_REPLY
      results[i] = tail + accepted
    end
  end
  if accepted == 0 then return results end

  gen, count, began = generation(seen, meta, gen, count, began, now)
  for i = 1, n do
    if type(results[i]) == 'number' then add_entry(mail, results[i], now, args[a + i * 3 + 1]) end
  end
  redis.call('HSET', seen[gen], unpack(fresh))
  local set = { 'tail', int(tail + accepted), 'gen', gen, 'gen_n', count + accepted, 'gen_at', int(began), 'rung', 1 }
  for field, depth in pairs(depths) do
    set[#set + 1] = field
    set[#set + 1] = depth
  end
  redis.call('HSET', meta, unpack(set))
  if m[5] ~= '1' then ring(bells, m[6], m[7]) end
  return results
end

register('append', function(keys, args)
  local now, bells, results = now_ms(), {}, {}
  local k, a = 1, 3
  for s = 1, tonumber(args[1]) do
    results[s] = append_section(keys, k, args, a, now, bells)
    k, a = k + 4, a + 2 + 3 * tonumber(args[a + 1])
  end
  send_bells(args[2], bells)
  return results
end)
