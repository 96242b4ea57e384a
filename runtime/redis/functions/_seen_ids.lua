-- Ids of messages that a partition has seen: a repeated message is not appended again.

-- Seen ids live in meta as `#id`. When one of these bounds is passed, they become the older generation, which is
-- kept until the same happens again or for GENERATION_MS; while one of its messages waits, for WAITING_MS.
local GENERATION_MS, GENERATION_IDS = 60000, 4096
local WAITING_MS = 3600000
-- At this number the generation becomes the older one even while messages of the older one wait, which bounds the time of a call.
local MOST_IDS = 65536

-- Makes the current generation of seen ids the older one. Meta keeps all its other fields except the counts of waiting messages that
-- programs of format 2 wrote (`@`).
local function rotate(meta, older, keep_ms)
  local names, kept, fields = redis.call('HKEYS', meta), {}, {}
  for i = 1, #names do
    local kind = string.byte(names[i])
    if kind ~= 35 and kind ~= 64 then kept[#kept + 1] = names[i] end
  end
  for from = 1, #kept, CHUNK do
    local last = math.min(from + CHUNK - 1, #kept)
    local values = redis.call('HMGET', meta, unpack(kept, from, last))
    for i = 1, #values do fields[#fields + 1], fields[#fields + 2] = kept[from + i - 1], values[i] end
  end
  if #names > 0 then
    redis.call('RENAME', meta, older)
    redis.call('PEXPIRE', older, keep_ms)
  end
  variadic('HSET', meta, fields, 1, #fields)
end

-- Fields of meta that `age_ids` and `remembers_since` take, in this order.
local GENERATION = { 'gen_tail', 'gen_at', 'ids', 'old_from', 'old_until' }

-- Every function that remembers ids calls this before its writes to meta, so that none of them finds a large one. `cursor` and
-- `tail` are those of the mailbox that the messages are in.
-- m[at ...] are the values of GENERATION; `set` gets those that change, with `more` ids in the younger generation. Ids of
-- messages that wait are not forgotten: the older generation goes when all of it was handled.
local function age_ids(meta, older, cursor, tail, m, at, more, now, set)
  local gen_tail, gen_at = tonumber(m[at] or 0), tonumber(m[at + 1] or 0)
  -- A program of format 2 does not count ids; it counts all entries as if each had one.
  local count = math.min(tonumber(m[at + 2] or 0), tail - gen_tail)
  set[#set + 1], set[#set + 2] = 'ids', int(count + more)
  if now - gen_at < GENERATION_MS and count < GENERATION_IDS then return end
  if cursor < gen_tail and count < MOST_IDS then return end
  local keep_ms = cursor < tail and WAITING_MS or GENERATION_MS
  if count > 0 then rotate(meta, older, keep_ms) end
  set[#set] = int(more)
  set[#set + 1], set[#set + 2] = 'old_from', int(gen_at)
  set[#set + 1], set[#set + 2] = 'old_until', int(now + keep_ms)
  set[#set + 1], set[#set + 2] = 'gen_tail', int(tail)
  set[#set + 1], set[#set + 2] = 'gen_at', int(now)
end

-- Moves generations that begin in the future, because the clock was set back, to the present time. Otherwise all messages would count as
-- late until the clock is there again. No id is forgotten by it. `m[at ...]` are the values of GENERATION.
local function mend_times(meta, m, at, now)
  for i = 2, 4, 2 do
    local from = m[at + i - 1]
    if tonumber(from or 0) > now then
      m[at + i - 1] = int(now - 1)
      redis.call('HSET', meta, GENERATION[i], m[at + i - 1])
    end
  end
end

-- Whether all ids since `sent` are remembered. The id of a message that was sent earlier may have been seen and forgotten.
local function remembers_since(sent, m, at, now)
  local from = tonumber(m[at + 1] or 0)
  if now < tonumber(m[at + 4] or 0) then from = tonumber(m[at + 3] or 0) end
  return tonumber(sent) > from
end
