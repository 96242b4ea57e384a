/** A reply on its way to its session, or kept for it. */
interface Reply {
  readonly messageId: string;
  readonly body: string;
}

/** In front of what `packReplies` wrote; functions of format 2 write the rest alone, with `#` in front of ids and lengths in bytes. */
const MARK = '=';
const SEEN_MARK = '#';

/** Replies of one commit to one session: `=`, `id length,body length;…` in UTF-16 units, a newline, ids and bodies in a row. */
export function packReplies(replies: readonly Reply[]): string {
  let head = MARK;
  let texts = '';
  for (const { messageId, body } of replies) {
    head += `${messageId.length},${body.length};`;
    texts += messageId + body;
  }
  return `${head.slice(0, -1)}\n${texts}`;
}

export function readReplies(message: Buffer, receive: (messageId: string, body: string) => void): void {
  if (message[0] === MARK.charCodeAt(0)) readPacked(message.toString('utf8'), receive);
  else readOneByOne(message, receive);
}

/** The reply to one message in a text of `packReplies`; null when it holds none. */
export function replyIn(packed: string, messageId: string): string | null {
  if (!packed.includes(messageId)) return null;
  let found: string | null = null;
  readPacked(packed, (id, body) => {
    if (id === messageId) found = body;
  });
  return found;
}

function readPacked(packed: string, receive: (messageId: string, body: string) => void): void {
  const headEnd = packed.indexOf('\n');
  let position = headEnd + 1;
  for (const pair of packed.slice(MARK.length, headEnd).split(';')) {
    const comma = pair.indexOf(',');
    const idEnd = position + Number(pair.slice(0, comma));
    const bodyEnd = idEnd + Number(pair.slice(comma + 1));
    receive(packed.slice(position, idEnd), packed.slice(idEnd, bodyEnd));
    position = bodyEnd;
  }
}

function readOneByOne(message: Buffer, receive: (messageId: string, body: string) => void): void {
  const headEnd = message.indexOf(10);
  let position = headEnd + 1;
  for (const pair of message.toString('latin1', 0, headEnd).split(';')) {
    const comma = pair.indexOf(',');
    const idEnd = position + Number(pair.slice(0, comma));
    const bodyEnd = idEnd + Number(pair.slice(comma + 1));
    receive(message.toString('utf8', position + SEEN_MARK.length, idEnd), message.toString('utf8', idEnd, bodyEnd));
    position = bodyEnd;
  }
}
