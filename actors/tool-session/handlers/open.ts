import type { z } from 'zod';
import { append, type SessionTurn, timeOf } from '../appending.ts';
import { EXPIRY } from '../closing.ts';
import type { Open as OpenMessage } from '../messages.ts';
import { sessionOf, type ToolSessionState } from '../state.ts';

/** new → active. The same again changes nothing; a session that was closed before it was opened stays closed. */
export function Open(state: ToolSessionState, open: z.output<typeof OpenMessage>, turn: SessionTurn): ToolSessionState {
  const { session_id, subject, grant } = open;
  if (state.status === 'closed' || state.status === 'revoked') {
    return turn.refuse('failed_precondition', 'the session is closed: its execution has ended');
  }
  if (state.status === 'active') {
    const same = state.session?.source === open.source && state.session.public_key === open.public_key;
    if (!same) return turn.refuse('conflict', 'the session id is in use for another session');
    turn.reply({ session_id });
    return state;
  }
  turn.reply({ session_id });
  if (open.expires_at !== null) {
    turn.after(EXPIRY, Math.max(0, Date.parse(open.expires_at) - turn.now), 'Expired', {});
  }
  const active: ToolSessionState = { ...state, status: 'active', session: sessionOf(open, timeOf(turn)), grant };
  return append(
    active,
    {
      kind: 'opened',
      session_id,
      tenant: turn.tenant,
      execution_id: subject.execution_id,
      agent_id: subject.agent_id,
      source: open.source,
      subject: subject.principal.subject,
      security_context: grant.security_context,
      public_key: open.public_key,
      tools: grant.tools.map(({ name, schema_hash }) => ({ name, schema_hash })),
    },
    turn,
  );
}
