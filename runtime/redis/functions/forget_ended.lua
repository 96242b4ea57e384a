-- Removes ended actors whose records are still those that the caller read. The node that serves the partition may have them in memory:
-- if it writes them, they are stored and archived again.
-- KEYS  a section: states, event tails, then the event stream of each address
-- ARGV  a section: n, then n times: address, SHA-1 of its record
-- returns a section: n times 1 (removed) | 0
register('forget_ended', function(keys, args)
  local results, k, a = {}, 1, 3
  for s = 1, tonumber(args[1]) do
    local n = tonumber(args[a])
    results[s] = {}
    for i = 1, n do
      local address = args[a + i * 2 - 1]
      local record = redis.call('HGET', keys[k], address)
      local same = record and redis.sha1hex(record) == args[a + i * 2]
      if same then
        redis.call('HDEL', keys[k], address)
        redis.call('HDEL', keys[k + 1], address)
        redis.call('UNLINK', keys[k + 1 + i])
      end
      results[s][i] = same and 1 or 0
    end
    k, a = k + 2 + n, a + 1 + 2 * n
  end
  return results
end, { 'allow-oom' })
