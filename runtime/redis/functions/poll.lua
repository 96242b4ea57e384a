-- Reads the entries behind a position. An empty answer makes the next append ring the holder's bell.
-- KEYS  a section: meta, mail
-- ARGV  a section: after, limit, fence, bell
-- returns a section: {first seq, at, body, at, body ...}, empty when none waits or the lease is lost
register('poll', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local meta, a = keys[s * 2 - 1], s * 4 - 1
    local entries = {}
    if redis.call('HGET', meta, 'fence') == args[a + 2] then
      entries = entries_behind(keys[s * 2], tonumber(args[a]), args[a + 1])
      if #entries == 0 then redis.call('HSET', meta, 'bell', args[a + 3]) end
    end
    results[s] = entries
  end
  return results
end, { 'allow-oom' })
