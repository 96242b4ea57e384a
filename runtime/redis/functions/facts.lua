-- Stores a fact about the store as a whole under its name.
-- KEYS  a section: facts, calls of each process (_call_order.lua)
-- ARGV  a section: name, value, caller, number of its call
-- returns a section: 1 | -1 (late)
register('keep_fact', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local a = s * 4 - 1
    local late = not is_in_order(keys[s * 2], args[a + 2], args[a + 3], now)
    if not late then redis.call('HSET', keys[s * 2 - 1], args[a], args[a + 1]) end
    results[s] = late and -1 or 1
  end
  return results
end)
