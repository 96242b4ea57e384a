import { defineActor } from '../../runtime/define-actor.ts';
import { Cancel, Convene, JudgeStarted, JudgeTimedOut, JudgeWord } from './handlers.ts';
import { judgePanelEvents, judgePanelMessages } from './messages.ts';
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
