import { nearest } from '../../nearest.ts';
import { type Hit, quoted, type Rule } from './rule.ts';
import { astray, blackboardKeys, type Shape, scopeShape } from './scope-shape.ts';

/** A caller's input may have more keys than are declared; an author who tests for one knows this. */
const OPEN_ROOTS: ReadonlySet<string> = new Set(['input', 'blackboard']);

export const unknownTemplateKey: Rule = {
  id: 'unknown_template_key',
  cure: 'Name a template variable that exists; a missing one renders as `[missing: KEY in STATE]`.',
  *check({ manifest, texts }) {
    const scope = scopeShape(manifest);
    const keys = blackboardKeys(manifest);
    const slip = slipFinder(keys);
    for (const { path, references } of texts)
      for (const reference of references) {
        if (reference.conditional && OPEN_ROOTS.has(reference.path[0] ?? '')) continue;
        const found = unknown(reference.path, scope, keys) ?? mistypedKey(reference.path, slip);
        if (found !== null) yield { path, ...found };
      }
  },
};

function unknown(path: readonly string[], scope: Shape, written: ReadonlySet<string>): Omit<Hit, 'path'> | null {
  const lost = astray(scope, path);
  if (lost === null) return null;
  const missing = path[lost.known] ?? '';
  const parent = path.slice(0, lost.known).join('.');
  const meant = nearest(missing, lost.choices);
  return {
    message:
      parent === ''
        ? `{{${path.join('.').slice(0, 80)}}}: neither a template variable nor a state is named ${quoted(missing)}`
        : `{{${path.join('.').slice(0, 80)}}}: ${parent} has no ${quoted(missing)}`,
    ...(parent === '' && written.has(missing)
      ? { cure: `It is on the blackboard: write blackboard.${missing}.` }
      : cureFor(parent, meant, lost.choices)),
  };
}

/** Finds the key that was probably meant; each unknown key is compared with all others once. */
function slipFinder(keys: ReadonlySet<string>): (key: string) => string | undefined {
  const found = new Map<string, string | undefined>();
  return (key) => {
    if (keys.has(key)) return undefined;
    if (!found.has(key)) found.set(key, nearest(key, keys));
    return found.get(key);
  };
}

/** Callers may write any key to the blackboard, so only probable typing errors are reported. */
function mistypedKey(
  [root, key]: readonly string[],
  slip: (key: string) => string | undefined,
): Omit<Hit, 'path'> | null {
  const meant = root === 'blackboard' && key !== undefined ? slip(key) : undefined;
  if (key === undefined || meant === undefined) return null;
  return {
    message: `{{blackboard.${key.slice(0, 60)}}}: nothing in this workflow writes ${quoted(key)}`,
    cure: `Write blackboard.${meant}, or choose a less similar name for what the caller passes.`,
  };
}

function cureFor(parent: string, meant: string | undefined, choices: readonly string[]): { cure?: string } {
  const prefix = parent === '' ? '' : `${parent}.`;
  if (meant !== undefined) return { cure: `Write ${prefix}${meant}.` };
  if (parent === 'input') return { cure: 'Declare it under metadata.input_schema.properties.' };
  if (parent === 'workflow.context') return { cure: 'Declare it under spec.context.' };
  if (parent === 'workflow.storage.shared_volumes') return { cure: 'Declare it under spec.storage.shared_volumes.' };
  if (choices.length === 0 || choices.length > 12) return {};
  return { cure: `There is ${choices.map((choice) => `${prefix}${choice}`).join(', ')}.` };
}
