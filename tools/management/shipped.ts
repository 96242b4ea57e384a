import { builtInId } from '../../catalog/built-in/api.ts';
import { SvcError } from '../../runtime/errors.ts';

/**
 * Throws `failed_precondition` for what ships with the product: it stays as it is (docs/catalog.md, Built-ins). Who wants
 * another in its place creates one of its name, which is another one with its own id.
 */
export function refuseShipped(kind: 'agent' | 'workflow', found: { readonly id: string; readonly name: string }): void {
  if (found.id !== builtInId(kind, found.name)) return;
  const create = `svc.${kind}.create deploys another of its name`;
  throw new SvcError(
    'failed_precondition',
    `${kind} ${found.name} ships with the product: it stays as it is; ${create}`,
  );
}
