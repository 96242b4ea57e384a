import { defineActor } from '../../runtime/define-actor.ts';
import { ClassificationTimedOut, RouterSaid, RouterStarted } from './classifying.ts';
import { stimulusEvents } from './events.ts';
import { stimulusMessages } from './messages.ts';
import { Forget, Receive } from './receive.ts';
import { WorkflowStarted } from './starting.ts';
import { StimulusState } from './state.ts';
import { projectStimulus, STIMULI } from './view.ts';

/**
 * The deliveries of one (tenant, source, idempotency key), of which one starts a workflow (spec 1 IngestStimulus). When
 * its window is over nothing of it stays but its entry in the list, and the key is free.
 */
export const stimulusActor = defineActor({
  kind: 'stimulus',
  version: 1,
  pool: 'system',
  state: StimulusState,
  initial: () => ({ status: 'new' as const }),
  messages: stimulusMessages,
  events: stimulusEvents,
  creates: ['Receive'],
  on: { Receive, RouterStarted, RouterSaid, ClassificationTimedOut, WorkflowStarted, Forget },
  view: { collection: STIMULI.name, indexes: STIMULI.indexes, project: projectStimulus },
  done: ({ status }) => status === 'over',
  retainedAs: 'stimuli',
  keepsArchive: false,
});
