-- Sets and removes the partitions of actors that do not live in their home partition. One function for both, so that the calls of a
-- process stay in order.
-- KEYS  a section: directory, calls of each process (_call_order.lua)
-- ARGV  a section: place | unplace, address, partition, caller, number of its call
-- returns a section: place: its partition, set by this call if there was none | unplace: 1 (removed) |
--         0 (there is none, or it names another partition) | -1 (late)
register('directory', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local directory, a = keys[s * 2 - 1], s * 5 - 2
    local address, partition = args[a + 1], args[a + 2]
    if not is_in_order(keys[s * 2], args[a + 3], args[a + 4], now) then
      results[s] = -1
    elseif args[a] == 'place' then
      redis.call('HSETNX', directory, address, partition)
      results[s] = redis.call('HGET', directory, address)
    else
      local same = redis.call('HGET', directory, address) == partition
      results[s] = same and redis.call('HDEL', directory, address) or 0
    end
  end
  return results
end, { 'allow-oom' })
