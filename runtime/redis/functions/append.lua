-- Appends client messages to mailboxes. Drops messages with a known id, refuses those above an actor's bound.
-- KEYS  a section: meta, mail, older seen ids, depths, held
-- ARGV  a section: bound, 1 (packs may be written) | 0, when it was sent first (this server's clock, never ahead of it), n,
--         then n times: seen field of the id, address of the actor, body
-- returns a section: n times: sequence number (accepted) | text (duplicate: its reply, NO_REPLY without) |
--         {depth} (full) | 0 (late: it may have been seen and forgotten); then the log that has them or '' for the
--         partition's own; then the time, Unix ms

-- Fields of the mailbox, after the first one of `m` that they fill.
local BOX = { 'tail', 'cursor', 'bell', 'counted', 'held' }

local function append_section(keys, k, args, a, prefix, now, bells)
  local meta, older = keys[k], keys[k + 2]
  local bound, packs, n = tonumber(args[a]), args[a + 1] == '1', tonumber(args[a + 3])
  local ids, fields = {}, { 'tail', 'cursor', 'bell', 'counted', 'held', 'log', unpack(GENERATION) }
  local head = #fields
  for i = 1, n do
    ids[i] = args[a + i * 3 + 1]
    fields[head + i] = ids[i]
  end
  local m = redis.call('HMGET', meta, unpack(fields))
  local seen = redis.call('HMGET', older, unpack(ids))
  local box = box_of(prefix, meta, keys[k + 1], keys[k + 3], m[6])
  local b = box.log and redis.call('HMGET', box.meta, unpack(BOX)) or m
  local tail, cursor, counts = tonumber(b[1] or 0), tonumber(b[2] or 0), { counted = b[4], held = b[5] }
  mend_times(meta, m, 7, now)
  local known_for_sure = remembers_since(args[a + 2], m, 7, now)
  local waiting_of, held_of, counting = depths_of(box.mail, box.depths, counts, cursor, tail, bound, n, packs)

  local results, now_waiting, known = {}, {}, {}
  local bodies, targets, set = {}, {}, {}
  for i = 1, n do
    local id, target = ids[i], args[a + i * 3 + 2]
    local reply = m[head + i] or seen[i] or known[id]
    local waits = now_waiting[target] or waiting_of and waiting_of(target) or 0
    local depth = waits + (held_of and held_of(target, keys[k + 4]) or 0)
    if reply then
      results[i] = reply
    elseif not known_for_sure then
      results[i] = 0
    elseif depth >= bound then
      results[i] = { depth }
    else
      now_waiting[target] = waits + 1
      known[id] = NO_REPLY
      set[#set + 1], set[#set + 2] = id, NO_REPLY
      bodies[#bodies + 1], targets[#targets + 1] = args[a + i * 3 + 3], target
      results[i] = tail + #bodies
    end
  end
  results[n + 1], results[n + 2] = box.log or '', now
  if counting then
    keep_counts(box.depths, now_waiting)
    redis.call('HSET', box.meta, 'counted', args[a])
  end
  if #bodies == 0 then return results end

  age_ids(meta, older, cursor, tail, m, 7, #bodies, now, set)
  for i = 1, #bodies do add_entry(box.mail, tail + i, now, bodies[i], targets[i], box.partition) end
  redis.call('HSET', meta, unpack(set))
  redis.call('HSET', box.meta, 'tail', int(tail + #bodies), 'bell', '')
  if b[3] and b[3] ~= '' then ring(bells, b[3], tail + 1, now, bodies, box.partition) end
  return results
end

register('append', function(keys, args)
  local now, bells, results = now_ms(), {}, {}
  local k, a = 1, 3
  for s = 1, tonumber(args[1]) do
    results[s] = append_section(keys, k, args, a, args[2], now, bells)
    k, a = k + 5, a + 4 + 3 * tonumber(args[a + 3])
  end
  send_bells(args[2], bells)
  return results
end)

-- Counts the client messages that wait for one address. Above the bound of an actor `depths` has the counts, so at most as many
-- client messages as that bound are read.
-- KEYS  a section: meta, mail, depths, held
-- ARGV  a section: address
-- returns a section: count
register('depth', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local target, k = args[s + 2], s * 4 - 3
    local box = box_of(args[2], keys[k], keys[k + 1], keys[k + 2], redis.call('HGET', keys[k], 'log'))
    local m = redis.call('HMGET', box.meta, 'cursor', 'counted')
    local held = tonumber(redis.call('HGET', keys[k + 3], target) or 0)
    local waits
    if m[2] and m[2] ~= '' then waits = tonumber(redis.call('HGET', box.depths, target) or 0)
    else waits = count_targets(box.mail, tonumber(m[1] or 0), nil, {})[target] or 0 end
    results[s] = held + waits
  end
  return results
end, { 'no-writes' })
