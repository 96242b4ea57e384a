-- Appends a pack: new messages of one writer, whose ids no other process knows. Writer and number identify a pack.
-- A writer numbers its packs of one partition 1, 2, 3 … and sends them in this order; only the next number is taken, so a
-- copy changes nothing, whenever it arrives. After a writer is closed none of its packs is accepted, so messages that were not
-- written may be appended in another way.
-- Mark of a writer in meta: field `~name`, value `number first at` (its last pack) or `number closed at` (that pack and all
-- later ones were not written and will not be).

-- Longest time from the sending of a pack to its arrival. Marks live much longer, so a late copy always finds the mark of its writer.
local LATE_MS, MARK_MS, SWEEP_MS = 60000, 3600000, 60000

-- Removes the marks of writers that have sent nothing for so long that a copy of their packs would be refused as late.
local function sweep_marks(meta, now)
  local names, old = redis.call('HKEYS', meta), {}
  for i = 1, #names do
    if string.byte(names[i]) == 126 then
      local at = string.match(redis.call('HGET', meta, names[i]) or '', '(%d+)$')
      if now - tonumber(at or 0) > MARK_MS then old[#old + 1] = names[i] end
    end
  end
  variadic('HDEL', meta, old, 1, #old)
end

local function close(meta, writer, number, now)
  redis.call('HSET', meta, writer, int(number) .. ' closed ' .. int(now))
end

-- The new counts of the pack's actors, or nil when one of them would exceed the bound. `held_key` returns key `held` of the partition of
-- each.
local function counts_within(targets, waiting_of, held_of, held_key, bound)
  local counts, i = {}, 0
  for target in string.gmatch(targets, '[^\n]+') do
    i = i + 1
    counts[target] = (counts[target] or waiting_of(target)) + 1
    if counts[target] + held_of(target, held_key(i)) > bound then return nil end
  end
  return counts
end

local function held_keys(prefix, own, partitions)
  if partitions == '' then return function() return own end end
  local keys = {}
  for partition in string.gmatch(partitions, '[^,]+') do keys[#keys + 1] = base_of(prefix, partition) .. 'held' end
  return function(i) return keys[i] end
end

local function append_pack(keys, k, args, a, prefix, now, bells)
  local meta, mail, depths, partitions = keys[k], keys[k + 1], keys[k + 2], args[a + 8]
  local writer, number, bound, n = '~' .. args[a], tonumber(args[a + 1]), tonumber(args[a + 3]), tonumber(args[a + 4])
  local m = redis.call('HMGET', meta, 'tail', 'cursor', 'bell', 'counted', 'held', writer, 'marks_at', 'log', 'open')
  -- Also finds packs that were written before their partition began to share a log, or before the log was closed.
  local moved = m[8] and m[8] ~= '' and box_of(prefix, meta, mail, depths, m[8]).log
  -- A server of another life may have lost that the partitions share this log: the pack would stay unread. It may also have lost that its
  -- writer was closed and its messages sent again: a late copy would bring them twice.
  if (partitions ~= '' and m[9] ~= '1') or not is_of_this_life(args[a + 9]) then moved = moved or '' end
  local tail, cursor = tonumber(m[1] or 0), tonumber(m[2] or 0)
  local last, first = string.match(m[6] or '0 0 ', '^(%d+) (%w+) ')
  last = tonumber(last)
  if first == 'closed' then return number < last and 0 or moved or -1 end
  if number == last then return tonumber(first) end
  if number < last then return 0 end
  if moved then
    -- A closed log accepts no message, and another life none of this one, so a writer need not be closed.
    if moved ~= '' then close(meta, writer, number, now) end
    return moved
  end
  if number > last + 1 then return -2 end
  if now - tonumber(args[a + 2]) > LATE_MS then
    close(meta, writer, number, now)
    return -1
  end
  local counted = { counted = m[4], held = m[5] }
  local waiting_of, held_of, counting = depths_of(mail, depths, counted, cursor, tail, bound, n, true)
  local counts = {}
  if waiting_of then
    counts = counts_within(args[a + 6], waiting_of, held_of, held_keys(prefix, keys[k + 3], partitions), bound)
  end
  if counting then redis.call('HSET', meta, 'counted', args[a + 3]) end
  if not counts then
    close(meta, writer, number, now)
    return -1
  end

  if counting then keep_counts(depths, counts) end
  local fields = { 'a', int(now), 'b', args[a + 7], 'n', args[a + 5], 't', args[a + 6] }
  if partitions ~= '' then fields[9], fields[10] = 'p', partitions end
  redis.call('XADD', mail, int(tail + 1) .. '-0', unpack(fields))
  local mark = args[a + 1] .. ' ' .. int(tail + 1) .. ' ' .. int(now)
  redis.call('HSET', meta, 'tail', int(tail + n), 'bell', '', writer, mark)
  if now - tonumber(m[7] or 0) > SWEEP_MS then
    sweep_marks(meta, now)
    redis.call('HSET', meta, 'marks_at', int(now))
  end
  if m[3] and m[3] ~= '' then ring_pack(bells, m[3], tail + 1, now, args[a + 5], args[a + 7], fields[10]) end
  return tail + 1
end

-- KEYS  a section: meta, mail, depths, held (of a log that partitions share, which has none: meta)
-- ARGV  a section: writer, number of the pack, store time when it was sent, bound, n, lengths, addresses,
--         bodies (_append_parts.lua), in a log that partitions share the partition of each, `,`-separated, else '', and the life of
--         the server that the writer knows, '' before its first answer; for a shared log the one that named it
-- returns a section: {answer, store time, server life}; answer is the number of its first message (written now or
--         by an earlier copy) |
--         0 (written by an earlier copy, its number is not known any more) | -1 (not written, nor will a copy be) |
--         -2 (not written: packs before it are missing) | text (not written, nor will a copy be: it goes to the log of this
--         name, '' when that is not known)
register('append_pack', function(keys, args)
  local now, bells, results = now_ms(), {}, {}
  for s = 1, tonumber(args[1]) do
    local answer = append_pack(keys, s * 4 - 3, args, s * 10 - 7, args[2], now, bells)
    results[s] = { answer, now, server_life() }
  end
  send_bells(args[2], bells)
  return results
end)

-- Closes a writer: a pack of it that is not written now will not be written, whenever a copy arrives.
-- KEYS  a section: meta
-- ARGV  a section: writer, 1 (of a log that partitions share, whose meta is gone an hour after it) | 0
-- returns a section: number of its last pack that was written, 0 for none
register('close_writer', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local writer, shared = '~' .. args[s * 2 + 1], args[s * 2 + 2] == '1'
    local last, first = string.match(redis.call('HGET', keys[s], writer) or '0 0 ', '^(%d+) (%w+) ')
    results[s] = first == 'closed' and tonumber(last) - 1 or tonumber(last)
    if not shared or redis.call('HGET', keys[s], 'open') then close(keys[s], writer, results[s] + 1, now) end
  end
  return results
end)
