-- Where actors live that are not at home.

-- Removes an entry while it says what its remover looked at.
-- KEYS  a section: directory
-- ARGV  a section: address, partition
-- returns a section: 1 (removed) | 0 (there is none, or it names another partition)
register('unplace', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local address, partition = args[s * 2 + 1], args[s * 2 + 2]
    local same = redis.call('HGET', keys[s], address) == partition
    results[s] = same and redis.call('HDEL', keys[s], address) or 0
  end
  return results
end, { 'allow-oom' })
