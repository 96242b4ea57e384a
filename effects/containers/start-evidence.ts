import type { Clock } from '../../runtime/clock.ts';
import type { ContainerEngine } from './engine.ts';

const MARGIN_MS = 2_000;
const LONGEST_ANSWER_CHARS = 1_048_576;

/**
 * Whether the engine's events show that a container was made and never started. False also when they show nothing:
 * an engine without events proves nothing.
 */
export async function neverStarted(
  engine: ContainerEngine,
  clock: Clock,
  container: { readonly id: string; readonly createdAt: number },
  signal: AbortSignal,
): Promise<boolean> {
  const since = Math.floor((container.createdAt - MARGIN_MS) / 1_000);
  const actions = await engine.call(signal, async (docker, abortSignal) => {
    // The engine ends the answer at this time; the last second counts.
    const until = Math.ceil(clock.now() / 1_000) + 1;
    const filters = { container: [container.id], event: ['create', 'start'] };
    const stream = await docker.getEvents({ since, until, filters, abortSignal });
    let text = '';
    for await (const chunk of stream) {
      text += chunk.toString();
      if (text.length > LONGEST_ANSWER_CHARS) return [];
    }
    return text.split('\n').flatMap((line) => actionOf(line, container.id));
  });
  return actions.includes('create') && !actions.includes('start');
}

function actionOf(line: string, id: string): string[] {
  if (line.trim() === '') return [];
  const event: unknown = JSON.parse(line);
  if (typeof event !== 'object' || event === null || !('Action' in event) || !('Actor' in event)) return [];
  const { Action, Actor } = event;
  const same = typeof Actor === 'object' && Actor !== null && 'ID' in Actor && Actor.ID === id;
  return same && typeof Action === 'string' ? [Action] : [];
}
