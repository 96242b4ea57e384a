-- Reads for operators and the projector, and removals that free space.

-- Measures the backlog of a log.
-- KEYS  a section: meta, mail, postponed
-- returns a section: {cursor, tail, append time of the oldest unhandled entry, of a partition also of one that is postponed, or ''}
register('backlog', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local k = s * 3 - 2
    local m = redis.call('HMGET', keys[k], 'cursor', 'tail', 'log')
    local box = box_of(args[2], keys[k], keys[k + 1], nil, m[3])
    if box.log then m = redis.call('HMGET', box.meta, 'cursor', 'tail') end
    local cursor, tail = tonumber(m[1] or 0), tonumber(m[2] or 0)
    local oldest = tail > cursor and entries_behind(box.mail, cursor, '1')[2] or ''
    local first = redis.call('XRANGE', keys[k + 2], '-', '+', 'COUNT', 1)[1]
    if first and (oldest == '' or tonumber(first[2][2]) < tonumber(oldest)) then oldest = first[2][2] end
    results[s] = { cursor, tail, oldest }
  end
  return results
end, { 'no-writes' })

-- Reads the unhandled entries behind a number that may have a message for one actor: those whose addresses have its own, and those
-- without addresses. It stops after so many entries, or bytes looked at; Redis serves no other client meanwhile.
-- KEYS  a section: meta, mail
-- ARGV  a section: address, after, most entries
-- returns a section: {number behind which the entries are, number up to which it looked or '' at the end, entries (entries_behind)}
local MOST_LOOKED_AT, BYTES_LOOKED_AT = 4096, 1048576

register('unread', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 2 - 1, s * 3
    local box = box_of(args[2], keys[k], keys[k + 1], nil, redis.call('HGET', keys[k], 'log'))
    local cursor = tonumber(redis.call('HGET', box.meta, 'cursor') or 0)
    local after, most, line = math.max(cursor, tonumber(args[a + 1])), tonumber(args[a + 2]), '\n' .. args[a] .. '\n'
    local flat, n, looked, bytes = { int(after), '' }, 3, 0, 0
    each_entry(box.mail, after, nil, function(row)
      local fields = row[2]
      local lengths, targets, partitions = lengths_and_targets(fields)
      looked, bytes = looked + 1, bytes + #fields[4]
      if not targets or string.find('\n' .. targets .. '\n', line, 1, true) then
        flat[n], flat[n + 1], flat[n + 2] = string.match(row[1], '^%d+'), fields[2], lengths or ''
        flat[n + 3], flat[n + 4] = partitions or '', fields[4]
        n = n + 5
      end
      if looked < MOST_LOOKED_AT and bytes < BYTES_LOOKED_AT and n < 3 + 5 * most then return false end
      flat[2] = int(number_of(row) + messages_of(lengths) - 1)
      return true
    end)
    results[s] = flat
  end
  return results
end, { 'no-writes' })

-- Reads rows of a journal, oldest first.
-- KEYS  a section: journal, mail
-- ARGV  a section: after (id of a row), limit
-- returns a section: n times {upTo, results beside the mailbox, after, row, entries (entries_behind)}
register('read_journal', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local journal, mail = keys[s * 2 - 1], keys[s * 2]
    local found = {}
    local rows = redis.call('XRANGE', journal, '(' .. args[s * 2 + 1], '+', 'COUNT', args[s * 2 + 2])
    for i = 1, #rows do
      local upto, beside = string.match(rows[i][1], '^(%d+)%-(%d+)$')
      local from = tonumber(rows[i][2][2])
      upto = tonumber(upto)
      found[i] = { upto, tonumber(beside), from, rows[i][2][4], entries_behind(mail, from, int(upto - from), upto) }
    end
    results[s] = found
  end
  return results
end, { 'no-writes' })

-- Removes the projected rows of a journal.
-- KEYS  a section: meta, journal, mail
-- ARGV  a section: fence, upTo, results beside the mailbox there: the last row to forget
-- returns a section: 1 | 0 (lease lost)
register('trim_journal', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 3 - 2, s * 3
    local m = redis.call('HMGET', keys[k], 'fence', 'cursor')
    if m[1] == args[a] then
      local upto, cursor = tonumber(args[a + 1]), tonumber(m[2] or 0)
      local first = upto > cursor and int(cursor + 1) or int(upto) .. '-' .. int(tonumber(args[a + 2]) + 1)
      local read = math.min(upto, cursor)
      local around = pack_around(keys[k + 2], read)
      redis.call('XTRIM', keys[k + 1], 'MINID', first)
      redis.call('XTRIM', keys[k + 2], 'MINID', around and around[1] or int(read + 1))
      results[s] = 1
    else
      results[s] = 0
    end
  end
  return results
end, { 'allow-oom' })

-- Removes the archived actors that a call names. A repeated or late call removes nothing more.
-- KEYS  a section: meta of the log that its holder reads, meta of the partition, states, event tails, then the event stream of each address
-- ARGV  a section: fence, cursor at which they were looked at, n, then n addresses
-- returns a section: 1 | 0 (lease lost, or the cursor moved)
register('forget', function(keys, args)
  local results, k, a = {}, 1, 3
  for s = 1, tonumber(args[1]) do
    local n, m = tonumber(args[a + 2]), redis.call('HMGET', keys[k], 'fence', 'cursor')
    local held = m[1] == args[a] and tonumber(m[2] or 0) == tonumber(args[a + 1])
    held = held and is_read_by(args[2], keys[k], keys[k + 1])
    if held then
      variadic('HDEL', keys[k + 2], args, a + 3, a + 2 + n)
      variadic('HDEL', keys[k + 3], args, a + 3, a + 2 + n)
      for i = k + 4, k + 3 + n, CHUNK do
        redis.call('UNLINK', unpack(keys, i, math.min(i + CHUNK - 1, k + 3 + n)))
      end
    end
    results[s] = held and 1 or 0
    k, a = k + 4 + n, a + 3 + n
  end
  return results
end, { 'allow-oom' })
