-- Shared by every function of the library; the loader puts it in front of them.
-- A function here gets KEYS and ARGV flat. ARGV[1] = number of sections, ARGV[2] = prefix of pub/sub channels;
-- each section takes its own run of keys and arguments. The answer is one element a section.
-- A function does not roll back: a section checks everything before its first write.

-- Value of a seen message id that has no recorded reply.
local NO_REPLY = '\0'
-- Seen ids live in meta as `#id`. When one of these bounds is passed, they become the older generation, which is
-- kept until the same happens again or for GENERATION_MS; while one of its messages waits, for WAITING_MS.
local GENERATION_MS, GENERATION_IDS = 60000, 4096
local WAITING_MS = 3600000
-- With so many in a generation it is turned although messages of the older one wait: one call must not take long.
local MOST_IDS = 65536
-- unpack() of more than about 8,000 values overflows Lua's stack. Even, so that pairs stay together.
local CHUNK = 4000

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Names the life of this server: its process and the history that it writes. A server that was started again, or took over from another,
-- has another one, and may have lost what its clients remember. Asked once: a library that is loaded again finds the same name, and a
-- server that copied the data of another loads the library again.
local known_life, known_process = nil, ''

local function server_life()
  if not known_life then
    local process, history = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
    if type(process) == 'string' and type(history) == 'string' then
      known_process = string.match(process, 'run_id:(%x+)') or ''
      known_life = known_process .. ' ' .. (string.match(history, 'master_replid:(%x+)') or '')
    else
      -- A user who may not ask: the time of the first question is another one in each life too.
      known_life = table.concat(redis.call('TIME'), ' ')
    end
  end
  return known_life
end

-- Whether a lease was granted by this life of the server; '' is not known.
local function is_of_this_life(life)
  return life == '' or life == server_life()
end

-- The same without the history: what is stored of it must be the same for the libraries of two releases. Empty: not known.
local function server_process()
  server_life()
  return known_process
end

-- A store that was away is not a death. When no node could write for SILENCE_MS, or for two fifths of a lease, or this
-- server is new, then leases and claims that held when it went away (`gone_at`; 0 is unknown) hold for one more term after
-- it came back (`back_at`). What was written since then counts as written: `written` has it for as long as that matters.
local SILENCE_MS, DEFAULT_TERM_MS = 2400, 6000
local heard_at, gone_at, back_at, lease_term, written = nil, 0, 0, DEFAULT_TERM_MS, {}

local function is_silent(now)
  return not heard_at or now - heard_at > math.max(SILENCE_MS, lease_term * 0.4)
end

-- Every function that writes calls this first.
local function hear(now)
  if is_silent(now) then
    -- A store that goes away twice in short order was away once: some have not come back in between.
    if not heard_at or heard_at - back_at > 2 * SILENCE_MS then gone_at = heard_at or 0 end
    back_at, written = now, {}
  end
  heard_at = now
end

-- A lease or claim was written now, named by its key and its field in it. The next lease may have a longer term than this one.
local function wrote(key, field, now)
  if now < back_at + math.max(lease_term, DEFAULT_TERM_MS) then written[key .. '\n' .. field] = true end
end

-- When it runs out. `gone` is when the server went away, where the caller knows better.
local function due_of(key, field, due, now, gone)
  local away = is_silent(now)
  local went, back = away and (heard_at or 0) or gone_at, away and now or back_at
  if due == 0 or now >= back + lease_term or (not away and written[key .. '\n' .. field]) then return due end
  if due <= (went > 0 and went or gone or 0) then return due end
  return math.max(due, back + lease_term)
end

-- Integers as text. tostring() would write 1e+15, and a number given to redis.call is formatted slowly.
local function int(n)
  return string.format('%d', n)
end

-- Runs a variadic command over list[from..to].
local function variadic(command, key, list, from, to)
  while from <= to do
    local last = from + CHUNK - 1
    if last > to then last = to end
    redis.call(command, key, unpack(list, from, last))
    from = last + 1
  end
end

local function add_entry(mail, seq, at, body)
  redis.call('XADD', mail, int(seq) .. '-0', 'a', at, 'b', body)
end

-- At most `limit` (text) mailbox entries behind `after` (up to `last`) as {first seq, at, body, at, body ...}; empty when none waits.
local function entries_behind(mail, after, limit, last)
  if limit == '0' then return {} end
  local rows = redis.call('XRANGE', mail, int(after + 1), last and int(last) or '+', 'COUNT', limit)
  local flat = {}
  for i = 1, #rows do
    local id, fields = rows[i][1], rows[i][2]
    if i == 1 then flat[1] = string.sub(id, 1, -3) end
    flat[i * 2] = fields[2]
    flat[i * 2 + 1] = fields[4]
  end
  return flat
end

-- Makes today's seen ids the older ones. Meta goes on with all its other fields but depths of zero.
local function rotate(meta, older, keep_ms)
  local names, kept = redis.call('HKEYS', meta), {}
  for i = 1, #names do
    if string.byte(names[i]) ~= 35 then kept[#kept + 1] = names[i] end
  end
  local fields = {}
  for from = 1, #kept, CHUNK do
    local last = math.min(from + CHUNK - 1, #kept)
    local values = redis.call('HMGET', meta, unpack(kept, from, last))
    for i = 1, #values do
      local name = kept[from + i - 1]
      if not (string.byte(name) == 64 and values[i] == '0') then
        fields[#fields + 1], fields[#fields + 2] = name, values[i]
      end
    end
  end
  if #names > 0 then
    redis.call('RENAME', meta, older)
    redis.call('PEXPIRE', older, keep_ms)
  end
  variadic('HSET', meta, fields, 1, #fields)
end

-- Every function that remembers ids calls this before its writes to meta, so that none of them finds a large one.
-- gen_tail and gen_at are the values of these fields; `set` gets those of a new generation. Ids of messages that wait
-- are not forgotten: the older generation goes when all of it was handled.
local function age_ids(meta, older, tail, gen_tail, gen_at, now, set)
  gen_tail = tonumber(gen_tail or 0)
  local count = tail - gen_tail
  if now - tonumber(gen_at or 0) < GENERATION_MS and count < GENERATION_IDS then return end
  local cursor = tonumber(redis.call('HGET', meta, 'cursor') or 0)
  if cursor < gen_tail and count < MOST_IDS then return end
  rotate(meta, older, cursor < tail and WAITING_MS or GENERATION_MS)
  set[#set + 1], set[#set + 2] = 'gen_tail', int(tail)
  set[#set + 1], set[#set + 2] = 'gen_at', int(now)
end

-- The field `bell` of meta tells whom to wake at the next entry, as `node\npartition`; empty when that was done.
-- A bell carries the entries, unless they are large, so that its hearer needs no poll. `send_bells` publishes one
-- message a node: for each partition `partition\t first seq\t at\t body length\t ...` and a newline each, then an
-- empty line, then the bodies in a row (lengths in bytes).
local BELL_BYTES = 16384

local function ring(bells, bell, first, now, bodies)
  local node, name = string.match(bell or '', '^([^\n]*)\n(.*)$')
  if not node then return end
  local held = bells[node]
  if not held then
    held = { head = {}, text = {} }
    bells[node] = held
  end
  local line, bytes = { name, int(first), int(now) }, 0
  for i = 1, #bodies do
    line[i + 3] = #bodies[i]
    bytes = bytes + #bodies[i]
  end
  if bytes > BELL_BYTES then
    line, bodies = { name }, {}
  end
  held.head[#held.head + 1] = table.concat(line, '\t')
  for i = 1, #bodies do held.text[#held.text + 1] = bodies[i] end
end

local function send_bells(prefix, bells)
  for node, held in pairs(bells) do
    local message = table.concat(held.head, '\n') .. '\n\n' .. table.concat(held.text)
    redis.call('PUBLISH', prefix .. 'bell:' .. node, message)
  end
end

local function register(name, callback, flags)
  local called = callback
  if not flags or flags[1] ~= 'no-writes' then
    called = function(keys, args)
      hear(now_ms())
      return callback(keys, args)
    end
  end
  redis.register_function({ function_name = LIBRARY .. '_' .. name, callback = called, flags = flags or {} })
end
