import { z } from 'zod';
import { executionEvents } from '../../../actors/execution/events.ts';
import { workflowEvents } from '../../../actors/workflow/events.ts';

/** `iteration_output` is the component IterationOutput. */
const componentName = (event: string): string =>
  event
    .split('_')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');

/**
 * The data of a stream's records: an object whose one key names the event. The fields of each event are a component of
 * the API description. They are described and not checked: an actor checked them when it made the event.
 */
function eventUnion(events: Readonly<Record<string, z.ZodObject>>, id: string): string {
  const choices = Object.entries(events).map(([name, fields]) =>
    z.object({ [name]: fields.meta({ id: componentName(name) }) }),
  );
  z.union(choices).meta({ id });
  return id;
}

/** One server-sent event, field by field. */
const streamedEvent = (id: string) =>
  z.looseObject({
    id: z.string().describe('Number of the event: 1, 2, 3 …'),
    data: z.string().meta({
      description: 'A JSON object whose one key names the event and whose value holds its fields.',
      contentMediaType: 'application/json',
      contentSchema: { $ref: `#/components/schemas/${id}` },
    }),
  });

/** A record of the stream of an execution (H12). */
export const StreamedExecutionEvent = streamedEvent(eventUnion(executionEvents, 'ExecutionEvent'));

/** A record of the stream of a workflow execution (W21). */
export const StreamedWorkflowEvent = streamedEvent(eventUnion(workflowEvents, 'WorkflowEvent'));
