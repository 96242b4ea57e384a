-- Reads for operators and the projector, and what makes room again.

-- KEYS  a section: meta, mail
-- returns a section: {cursor, tail, append time of the oldest unhandled entry or ''}
register('backlog', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local m = redis.call('HMGET', keys[s * 2 - 1], 'cursor', 'tail')
    local cursor, tail = tonumber(m[1] or 0), tonumber(m[2] or 0)
    results[s] = { cursor, tail, entries_behind(keys[s * 2], cursor, '1')[2] or '' }
  end
  return results
end, { 'no-writes' })

-- KEYS  a section: journal, mail
-- ARGV  a section: after, limit
-- returns a section: n times {upTo, after, row, {first seq, at, body ...}}; rows of one upTo are never separated
register('read_journal', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local journal, mail = keys[s * 2 - 1], keys[s * 2]
    local after, limit, found = tonumber(args[s * 2 + 1]), args[s * 2 + 2], {}
    local rows = redis.call('XRANGE', journal, int(after + 1), '+', 'COUNT', limit)
    if #rows == tonumber(limit) then
      local last = rows[#rows][1]
      local upto = string.match(last, '^%d+')
      local more = redis.call('XRANGE', journal, '(' .. last, upto)
      for i = 1, #more do rows[#rows + 1] = more[i] end
    end
    for i = 1, #rows do
      local upto, from = tonumber(string.match(rows[i][1], '^%d+')), tonumber(rows[i][2][2])
      found[i] = { upto, from, rows[i][2][4], entries_behind(mail, from, int(upto - from), upto) }
    end
    results[s] = found
  end
  return results
end, { 'no-writes' })

-- KEYS  a section: meta, journal, mail
-- ARGV  a section: fence, upTo
-- returns a section: 1 | 0 (lease lost)
register('trim_journal', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 3 - 2, s * 2 + 1
    local m = redis.call('HMGET', keys[k], 'fence', 'cursor')
    if m[1] == args[a] then
      local first = int(math.min(tonumber(args[a + 1]), tonumber(m[2] or 0)) + 1)
      redis.call('XTRIM', keys[k + 1], 'MINID', first)
      redis.call('XTRIM', keys[k + 2], 'MINID', first)
      results[s] = 1
    else
      results[s] = 0
    end
  end
  return results
end, { 'allow-oom' })

-- Removes archived actors.
-- KEYS  a section: meta, states, event tails, then the event stream of each address
-- ARGV  a section: fence, n, then n addresses
-- returns a section: 1 | 0 (lease lost)
register('forget', function(keys, args)
  local results, k, a = {}, 1, 3
  for s = 1, tonumber(args[1]) do
    local n = tonumber(args[a + 1])
    local held = redis.call('HGET', keys[k], 'fence') == args[a]
    if held then
      variadic('HDEL', keys[k + 1], args, a + 2, a + 1 + n)
      variadic('HDEL', keys[k + 2], args, a + 2, a + 1 + n)
      for i = k + 3, k + 2 + n do redis.call('UNLINK', keys[i]) end
    end
    results[s] = held and 1 or 0
    k, a = k + 3 + n, a + 2 + n
  end
  return results
end, { 'allow-oom' })
