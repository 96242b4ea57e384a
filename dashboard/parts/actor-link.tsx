import { Link } from '@tanstack/react-router';
import { plainLine } from './format.ts';

/** An address `kind/tenant/id` as a link to its actor, with the full address on hover. */
export function ActorLink({ address, length = 36 }: { readonly address: string; readonly length?: number }) {
  const [kind = '', , id = ''] = address.split('/');
  if (id === '') return <code>{plainLine(address, 120)}</code>;
  return (
    <Link to="/actors/$kind/$id" params={{ kind, id }} title={plainLine(address, 200)}>
      {plainLine(kind, 40)} <code>{plainLine(id.slice(0, length), 60)}</code>
    </Link>
  );
}

/** Link from an actor to its run; null for other kinds. */
export function RunOfActor({ kind, id }: { readonly kind: string; readonly id: string }) {
  if (kind !== 'execution' && kind !== 'workflow') return null;
  return (
    <Link className="button" to="/runs/$kind/$id" params={{ kind, id }}>
      Run
    </Link>
  );
}
