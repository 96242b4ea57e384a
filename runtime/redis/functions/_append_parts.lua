-- Entries of a mailbox: how they are written, read and counted, and how their reader is woken.
-- An entry is one message, or a pack: messages that one writer appended together. Its stream id is the number of its first
-- message, the others follow. Fields, in this order: `a` append time, `b` body (of a pack: the bodies in a row),
-- `n` of a pack: their lengths as `,`-separated UTF-16 units, `t` of client messages: their addresses, a line each,
-- `p` in a log that partitions share: the partition of each, `,`-separated.
-- Messages that carry no address are from timers, effects or other actors; those are not counted against the bound.

-- Entries read in the first step and in later ones, and bytes after which no further step is made. A pack has up to 256 messages, so
-- the first few often hold all that is asked for.
local FIRST_STEP, STEP, MOST_BYTES = 4, 64, 4194304

local function add_entry(mail, seq, at, body, target, partition)
  local fields = { 'a', at, 'b', body }
  if target then fields[5], fields[6] = 't', target end
  if partition then fields[#fields + 1], fields[#fields + 2] = 'p', partition end
  redis.call('XADD', mail, int(seq) .. '-0', unpack(fields))
end

-- Values of the fields `n`, `t` and `p`; nil for a missing field.
local function lengths_and_targets(fields)
  local lengths, targets, partitions
  for i = 5, #fields, 2 do
    if fields[i] == 'n' then lengths = fields[i + 1]
    elseif fields[i] == 't' then targets = fields[i + 1]
    else partitions = fields[i + 1] end
  end
  return lengths, targets, partitions
end

-- Keys of a shared log, which are named like those of a partition. Only for a server that has all keys of the store.
local function keys_of_log(prefix, name)
  local base = base_of(prefix, name)
  return base .. 'meta', base .. 'mail', base .. 'depths'
end

-- Where messages for a partition go: its own mailbox or, when field `log` of its meta says `log\npartition`, the log that it
-- shares. `partition` is nil for its own.
local function box_of(prefix, meta, mail, depths, shared)
  local log, partition = string.match(shared or '', '^([^\n]+)\n(.*)$')
  if not log then return { meta = meta, mail = mail, depths = depths } end
  local box = { log = log, partition = partition }
  box.meta, box.mail, box.depths = keys_of_log(prefix, log)
  return box
end

local function messages_of(lengths)
  if not lengths then return 1 end
  local _, commas = string.gsub(lengths, ',', '')
  return commas + 1
end

local function number_of(row)
  return tonumber(string.match(row[1], '^%d+'))
end

-- The pack in which `seq` is not the last message; nil when `seq` ends an entry or there is none.
local function pack_around(mail, seq)
  local row = redis.call('XREVRANGE', mail, int(seq), '-', 'COUNT', 1)[1]
  if not row then return nil end
  local reach = number_of(row) + messages_of((lengths_and_targets(row[2]))) - 1
  return reach > seq and row or nil
end

-- Calls `visit` with each entry after `after`, oldest first, up to the one with `last` (nil: to the end), until it returns
-- true. The first entry may begin at or before `after`, because a reader can stop inside a pack.
local function each_entry(mail, after, last, visit)
  local from, stop, step = after + 1, last and int(last) or '+', FIRST_STEP
  while true do
    local rows = redis.call('XRANGE', mail, int(from), stop, 'COUNT', step)
    if from == after + 1 and (not rows[1] or number_of(rows[1]) ~= from) then
      local around = pack_around(mail, after)
      if around and visit(around) then return end
    end
    for i = 1, #rows do
      if visit(rows[i]) then return end
    end
    if #rows < step then return end
    from, step = number_of(rows[#rows]) + 1, STEP
  end
end

-- At least `limit` (text) messages after `after`, in whole entries; fewer when fewer exist or they are large; with
-- `last` all up to that one. Returns, for each entry: number of its first message, at, lengths or '', partitions or '',
-- body. The first may begin before `after + 1`, the last may end after `last`. Empty when no message waits.
local function entries_behind(mail, after, limit, last)
  if limit == '0' then return {} end
  local flat, n, found, bytes, most = {}, 1, 0, 0, tonumber(limit)
  each_entry(mail, after, last, function(row)
    local fields = row[2]
    local lengths, _, partitions = lengths_and_targets(fields)
    flat[n], flat[n + 1], flat[n + 2] = string.match(row[1], '^%d+'), fields[2], lengths or ''
    flat[n + 3], flat[n + 4] = partitions or '', fields[4]
    n, found, bytes = n + 5, found + messages_of(lengths), bytes + #fields[4]
    return not last and (found >= most or bytes >= MOST_BYTES)
  end)
  return flat
end

-- Number of client messages of each address after `after`, up to `last` (nil: to the end).
local function count_targets(mail, after, last, counts)
  each_entry(mail, after, last, function(row)
    local seq, _, targets = number_of(row) - 1, lengths_and_targets(row[2])
    for target in string.gmatch(targets or '', '[^\n]+') do
      seq = seq + 1
      if seq > after and (not last or seq <= last) then counts[target] = (counts[target] or 0) + 1 end
    end
  end)
  return counts
end

local function keep_counts(depths, counts)
  local fields = {}
  for target, count in pairs(counts) do fields[#fields + 1], fields[#fields + 2] = target, int(count) end
  variadic('HSET', depths, fields, 1, #fields)
end

-- The bound on an actor's waiting client messages. While fewer messages wait in the whole mailbox and none is held back, no
-- actor can be over it and none are counted. Above it they are counted once, from the mailbox: from then on `depths`
-- has the counts and field `counted` of meta the bound, until half of the bound is free again (commit.lua). Key `held` of a partition
-- has the messages that actors took and hold back, field `held` of meta how many actors do. `m` has both fields by name.
-- Returns two functions, one from an address to its count in the mailbox, one from an address and key `held` to its count held back
-- (nil when no actor can be over the bound), and whether `depths` must be maintained.
local function depths_of(mail, depths, m, cursor, tail, bound, more, packs)
  local counted, holding = m.counted and m.counted ~= '', m.held and m.held ~= '0'
  local waiting = tail + more - cursor
  if not counted and not holding and waiting <= bound then return nil, nil, false end
  local counts = nil
  if not counted then
    counts = count_targets(mail, cursor, nil, {})
    counted = packs and waiting > bound
    if counted then
      redis.call('UNLINK', depths)
      keep_counts(depths, counts)
    end
  end
  local function waiting_of(target)
    if counts then return counts[target] or 0 end
    return tonumber(redis.call('HGET', depths, target) or 0)
  end
  local function held_of(target, held)
    return holding and tonumber(redis.call('HGET', held, target) or 0) or 0
  end
  return waiting_of, held_of, counted
end

-- Field `bell` of meta has the node and the log to wake at the next entry, as `node\nlog`; it is empty after the wake-up.
-- A wake-up carries the entries, unless they are large, so that its receiver needs no poll. `send_bells` publishes one
-- message for each node: a line for each log, `log\t first seq\t at\t body length\t ...` or, for a pack,
-- `log\t first seq\t at\t =lengths\t bytes`, then an empty line, then the bodies in a row (lengths in bytes). For a log that
-- partitions share, `@partitions` comes before the lengths.
local BELL_BYTES, PACK_BYTES = 16384, 262144

local function bell_of(bells, bell)
  local node, name = string.match(bell or '', '^([^\n]*)\n(.*)$')
  if not node then return nil end
  local held = bells[node]
  if not held then
    held = { head = {}, text = {} }
    bells[node] = held
  end
  return held, name
end

local function ring(bells, bell, first, now, bodies, partition)
  local held, name = bell_of(bells, bell)
  if not held then return end
  local line, bytes = { name, int(first), int(now) }, 0
  if partition then line[4] = '@' .. partition .. string.rep(',' .. partition, #bodies - 1) end
  for i = 1, #bodies do
    line[#line + 1] = #bodies[i]
    bytes = bytes + #bodies[i]
  end
  if bytes > BELL_BYTES then
    line, bodies = { name }, {}
  end
  held.head[#held.head + 1] = table.concat(line, '\t')
  for i = 1, #bodies do held.text[#held.text + 1] = bodies[i] end
end

local function ring_pack(bells, bell, first, now, lengths, blob, partitions)
  local held, name = bell_of(bells, bell)
  if not held then return end
  local line = name
  if #blob <= PACK_BYTES then
    line = { name, int(first), int(now) }
    if partitions then line[4] = '@' .. partitions end
    line[#line + 1], line[#line + 2] = '=' .. lengths, #blob
    line = table.concat(line, '\t')
    held.text[#held.text + 1] = blob
  end
  held.head[#held.head + 1] = line
end

local function send_bells(prefix, bells)
  for node, held in pairs(bells) do
    local message = table.concat(held.head, '\n') .. '\n\n' .. table.concat(held.text)
    publish(prefix, 'bell:' .. node, message)
  end
end
