import { defineActor } from '../../runtime/define-actor.ts';
import { judgePanelEvents } from './events.ts';
import { Cancel } from './handlers/cancel.ts';
import { Convene } from './handlers/convene.ts';
import { JudgeStarted } from './handlers/judge-started.ts';
import { JudgeTimedOut } from './handlers/judge-timed-out.ts';
import { JudgeWord } from './handlers/judge-word.ts';
import { judgePanelMessages } from './messages.ts';
import { JudgePanelState } from './state.ts';

/** Several judges, one verdict: asks each judge's agent once, waits for all of them, concludes (spec 3, decided.md). */
export const judgePanel = defineActor({
  kind: 'judge-panel',
  version: 1,
  state: JudgePanelState,
  initial: () => ({ status: 'idle' as const }),
  messages: judgePanelMessages,
  events: judgePanelEvents,
  on: { Convene, Cancel, JudgeStarted, JudgeWord, JudgeTimedOut },
  creates: ['Convene'],
  finalEvents: ['JudgePanelConcluded', 'JudgePanelCancelled'],
  done: (state) => state.status === 'ended',
  isPart: true,
  belongsTo: (state) => (state.status === 'ended' ? (state.told ?? null) : null),
});
