-- The parts of `commit` that write one kind of change each; see commit.lua for the groups they read.

-- Indexes of each group's first and last argument, for the log and for each partition in turn, and the index after the section.
-- A tag `@` begins the groups of a partition.
local function groups_of(args, a)
  local parts = { { from = {}, to = {} } }
  while args[a] ~= '.' do
    local tag, count = args[a], tonumber(args[a + 1])
    if tag == '@' then parts[#parts + 1] = { from = {}, to = {} } end
    local part = parts[#parts]
    part.from[tag], part.to[tag] = a + 2, a + 1 + count
    a = a + 2 + count
  end
  return parts, a + 1
end

-- The last event number of each address after this commit; nil when an event does not continue its actor's stream.
local function event_tails(key, args, from, to)
  local tails, i = {}, from
  while i <= to do
    local address, first, n = args[i], tonumber(args[i + 1]), tonumber(args[i + 2])
    local tail = tails[address] or tonumber(redis.call('HGET', key, address) or 0)
    if first ~= tail + 1 then return nil end
    tails[address] = tail + n
    i = i + 3 + n
  end
  return tails
end

-- Maximum bytes of events in a notice. A replica gets them twice.
local MOST_CARRIED = 4096

-- The notice of an append: the number of its last event; with short events also their lengths and the events, in lines (history.ts).
local function news_of(tail, args, from, n)
  local lengths, bytes = {}, 0
  for e = 0, n - 1 do
    local length = #args[from + e]
    lengths[e + 1], bytes = length, bytes + length
  end
  if bytes > MOST_CARRIED then return tail end
  return tail .. '\n' .. table.concat(lengths, ',') .. '\n' .. table.concat(args, '', from, from + n - 1)
end

-- Most events of one entry, and most of their bytes. A reader gets whole entries, also for fewer events.
local MOST_TOGETHER, BYTES_TOGETHER = 16, 16384

-- Appends args[from ... to], the events of one commit from number `first` on. With `together` an entry has the number of its last
-- event and a field `d` for each; else each event is an entry, as programs of format 3 read it.
local function add_events(stream, first, args, from, to, together)
  local at = from
  while at <= to do
    local fields, count, bytes = {}, 0, 0
    repeat
      fields[2 * count + 1], fields[2 * count + 2] = 'd', args[at]
      count, bytes, at = count + 1, bytes + #args[at], at + 1
    until not together or at > to or count == MOST_TOGETHER or bytes + #args[at] > BYTES_TOGETHER
    redis.call('XADD', stream, int(first + at - from - 1) .. '-0', unpack(fields))
  end
end

-- keys[k] is the key of the event tails; those of the streams follow in the order of the group.
local function write_events(keys, k, args, from, to, prefix, tails, together)
  local stream, i = k + 1, from
  while i <= to do
    local address, first, n = args[i], tonumber(args[i + 1]), tonumber(args[i + 2])
    add_events(keys[stream], first, args, i + 3, i + 2 + n, together)
    local tail = int(tails[address])
    redis.call('HSET', keys[k], address, tail)
    publish(prefix, 'events:' .. address, news_of(int(first + n - 1), args, i + 3, n))
    stream, i = stream + 1, i + 3 + n
  end
end

local function set_timers(timers, bodies, args, from, to, now)
  local scores, texts = {}, {}
  for i = from, to, 3 do
    scores[#scores + 1], scores[#scores + 2] = int(now + tonumber(args[i + 1])), args[i]
    texts[#texts + 1], texts[#texts + 2] = args[i], args[i + 2]
  end
  variadic('ZADD', timers, scores, 1, #scores)
  variadic('HSET', bodies, texts, 1, #texts)
end

-- Rows of effects; effects.lua describes their fields.
local ROW = '^(%l+)\n(%d+)\n(%d+)\n([^\n]*)\n(.*)$'

local function read_row(key, id)
  local text = redis.call('HGET', key, id)
  if not text then return nil end
  local status, attempt, due, runner, rest = string.match(text, ROW)
  return { status = status, attempt = tonumber(attempt), due = tonumber(due), runner = runner, rest = rest }
end

local function running(row, attempt)
  return row ~= nil and row.status == 'started' and row.attempt == tonumber(attempt)
end

-- Writes rows in the form of effects.lua; a runner that is named has started the effect with this commit.
local function open_effects(effects, bodies, args, from, to, now)
  local rows, texts = {}, {}
  for i = from, to, 5 do
    local runner, row = args[i + 1], 'open\n0\n0\n\n'
    if runner ~= '' then row = 'started\n1\n' .. int(now + tonumber(args[i + 2])) .. '\n' .. runner .. '\n' end
    rows[#rows + 1], rows[#rows + 2] = args[i], row .. args[i + 3]
    wrote(effects, args[i], now)
    texts[#texts + 1], texts[#texts + 2] = args[i], args[i + 4]
  end
  variadic('HSET', effects, rows, 1, #rows)
  variadic('HSET', bodies, texts, 1, #texts)
end

-- Whether each effect of a group `q` runs at its attempt.
local function all_running(effects, args, from, to)
  for i = from, to, 2 do
    if not running(read_row(effects, args[i]), args[i + 1]) then return false end
  end
  return true
end

local function close_effects(effects, bodies, args, from, to)
  local ids = {}
  for i = from, to, 2 do ids[#ids + 1] = args[i] end
  variadic('HDEL', effects, ids, 1, #ids)
  variadic('HDEL', bodies, ids, 1, #ids)
end

-- Results handled beside the mailbox while the cursor stands still (journal-position.ts).
local MOST_BESIDE = 9999

-- Number of results handled beside the mailbox at `cursor`. Field `beside` of meta is `cursor-count`; for another cursor it means 0.
local function beside_at(field, cursor)
  local at, count = string.match(field or '', '^(%d+)%-(%d+)$')
  return tonumber(at) == cursor and tonumber(count) or 0
end

-- Sequence numbers of the outbox follow the clock, so that a failover which rolls the counter back never reuses a
-- number that a target has received.
local function owe(outbox, last, args, from, to, now)
  last = math.max(last, now * 1000)
  for i = from, to, 2 do
    last = last + 1
    redis.call('XADD', outbox, int(last) .. '-0', 't', args[i], 'b', args[i + 1])
  end
  return last
end

-- Waiting client messages after this commit, for programs of format 2.
-- depths[at + 1 ...] are today's counts in the order of the group.
local function lower_depths(depths, at, args, from, to, set)
  for i = from, to, 2 do
    at = at + 1
    local left = tonumber(depths[at] or 0) - tonumber(args[i + 1])
    set[#set + 1], set[#set + 2] = args[i], left > 0 and int(left) or '0'
  end
end

-- Lowers the counts by the messages that this commit handled; ends counting when half of the bound is free (depths_of).
local function lower_counts(mail, depths, after, upto, tail, bound, set)
  if tail - upto <= bound / 2 then
    redis.call('UNLINK', depths)
    set[#set + 1], set[#set + 2] = 'counted', ''
    return
  end
  for target, count in pairs(count_targets(mail, after, upto, {})) do
    if redis.call('HINCRBY', depths, target, -count) <= 0 then redis.call('HDEL', depths, target) end
  end
end

-- Client messages that actors took and did not handle still count against the bound. Field `held` of meta says how many
-- actors do, of the partition and of a log that it shares.
local function hold_back(meta, log_meta, held, args, from, to)
  local before = redis.call('HLEN', held)
  for i = from, to, 2 do
    if redis.call('HINCRBY', held, args[i], args[i + 1]) <= 0 then redis.call('HDEL', held, args[i]) end
  end
  local now = redis.call('HLEN', held)
  redis.call('HSET', meta, 'held', int(now))
  if log_meta ~= meta then redis.call('HINCRBY', log_meta, 'held', now - before) end
end
