import type { ToolPolicy } from '../../manifests/tool/decision.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { invoke } from './handlers/invoke.ts';
import { Close, Expired, Open, Record, Refuse, Revoke, ToolEnded } from './handlers/open.ts';
import { toolSessionEvents, toolSessionMessages } from './messages.ts';
import { newSession, ToolSessionState } from './state.ts';
import { projectToolSession, TOOL_SESSIONS } from './view.ts';

/**
 * A session in which an agent or caller uses tools: new → active → closed | revoked. Its events are its audit chain
 * (manifests/audit). `policy` is pure and the same on every node.
 */
export const toolSessionActor = ({ policy }: { readonly policy: ToolPolicy }) =>
  defineActor({
    kind: 'tool-session',
    version: 2,
    state: ToolSessionState,
    // States of version 1 have no source `rest`.
    migrate: (state) => state,
    initial: () => newSession,
    messages: toolSessionMessages,
    events: toolSessionEvents,
    on: { Open, Invoke: invoke(policy), ToolEnded, Record, Refuse, Close, Revoke, Expired },
    creates: ['Open', 'Close', 'Record'],
    finalEvents: ['SessionClosed'],
    // A session waits for its call, which may last for minutes, and thousands do at once.
    idleMs: 5_000,
    view: {
      collection: TOOL_SESSIONS.name,
      indexes: TOOL_SESSIONS.indexes,
      open: { status: 'active' },
      project: projectToolSession,
    },
    done: ({ status }) => status === 'closed' || status === 'revoked',
    isPart: true,
    // By agent, or by caller where there is no agent.
    fairnessKey: ({ session }) => session?.subject.agent_id ?? session?.subject.principal.subject ?? null,
    belongsTo({ session }, { tenant }) {
      const id = session?.subject.execution_id ?? null;
      return id === null ? null : `execution/${tenant}/${id}`;
    },
  });
