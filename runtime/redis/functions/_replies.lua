-- Replies of a commit to the clients that wait for them.

-- Publishes replies, and keeps them for REPLIES_MS at most for clients that missed the publication: a stream by the commit's last
-- number. Its expiry is renewed after REARM_MS, not with each commit, because each renewal is in the append-only file. Field `kept_at` of
-- meta, here `kept_at`, is the time of the last renewal; `set` gets it when it changes.
local REPLIES_MS, REARM_MS, MOST_REPLIES = 120000, 15000, 4096

local function keep_replies(replies, upto, args, from, to, prefix, kept_at, now, set)
  for i = from, to, 2 do
    redis.call('XADD', replies, 'MAXLEN', '~', MOST_REPLIES, int(upto) .. '-*', 'p', args[i + 1])
    publish(prefix, 'reply:' .. args[i], args[i + 1])
  end
  local age = now - tonumber(kept_at or 0)
  if age >= 0 and age < REARM_MS then return end
  redis.call('PEXPIRE', replies, REPLIES_MS)
  set[#set + 1], set[#set + 2] = 'kept_at', int(now)
end

-- Collects replies (session, seen field, body) by session and records them in `set`; `send_replies` publishes one message a session:
-- `id length,body length;...` and a newline, then ids and bodies in a row (lengths in bytes).
local function collect_replies(replies, args, from, to, set)
  for i = from, to, 3 do
    local session, id, body = args[i], args[i + 1], args[i + 2]
    set[#set + 1], set[#set + 2] = id, body
    local held = replies[session]
    if not held then
      held = { head = {}, text = {} }
      replies[session] = held
    end
    held.head[#held.head + 1] = #id .. ',' .. #body
    held.text[#held.text + 1], held.text[#held.text + 2] = id, body
  end
end

local function send_replies(prefix, replies)
  for session, held in pairs(replies) do
    local message = table.concat(held.head, ';') .. '\n' .. table.concat(held.text)
    publish(prefix, 'reply:' .. session, message)
  end
end
