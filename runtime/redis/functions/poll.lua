-- Reads the entries behind a position. An empty answer makes the next append ring the holder's bell. A poll that
-- changes nothing writes nothing: each write is kept in the append-only file, and idle partitions are polled for ever.
-- KEYS  a section: meta, mail
-- ARGV  a section: after, limit, fence, bell
-- returns a section: {first seq, at, body, at, body ...}, empty when none waits or the lease is lost
register('poll', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local meta, a = keys[s * 2 - 1], s * 4 - 1
    local after, entries = tonumber(args[a]), {}
    local m = redis.call('HMGET', meta, 'fence', 'tail', 'bell')
    if m[1] == args[a + 2] then
      if tonumber(m[2] or 0) > after then entries = entries_behind(keys[s * 2], after, args[a + 1]) end
      if #entries == 0 and m[3] ~= args[a + 3] then redis.call('HSET', meta, 'bell', args[a + 3]) end
    end
    results[s] = entries
  end
  return results
end, { 'allow-oom' })
