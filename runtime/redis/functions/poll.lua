-- Reads the entries behind a position. After an empty answer the next append wakes the holder. A poll that
-- changes nothing writes nothing: each write is kept in the append-only file, and idle partitions are polled for ever.
-- A holder whose cursor is ahead of the store's would never read new entries: the answer says that its lease is lost.
-- KEYS  a section: meta, mail
-- ARGV  a section: after, limit, fence, bell, server life at the grant or ''
-- returns a section: entries (entries_behind), empty when none waits |
--         0 (the lease is lost, a server of another life granted it, or the store's cursor is before `after`)
register('poll', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local meta, a = keys[s * 2 - 1], s * 5 - 2
    local after, entries = tonumber(args[a]), 0
    local m = redis.call('HMGET', meta, 'fence', 'cursor', 'tail', 'bell')
    if m[1] == args[a + 2] and tonumber(m[2] or 0) >= after and is_of_this_life(args[a + 4]) then
      entries = {}
      if tonumber(m[3] or 0) > after then entries = entries_behind(keys[s * 2], after, args[a + 1]) end
      if #entries == 0 and m[4] ~= args[a + 3] then redis.call('HSET', meta, 'bell', args[a + 3]) end
    end
    results[s] = entries
  end
  return results
end, { 'allow-oom' })
