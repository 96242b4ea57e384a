import type { ReactNode } from 'react';
import { failureText } from '../api/queries.ts';
import { plainText } from './format.ts';

/** An empty state, with a hint. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children !== undefined && <div className="quiet">{children}</div>}
    </div>
  );
}

/** A failure with its text and a way to try again. */
export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => unknown }) {
  return (
    <div role="alert" className="notice notice-bad">
      <span>{plainText(failureText(error))}</span>
      {retry !== undefined && (
        <button type="button" onClick={() => void retry()}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <p className="loading quiet" role="status">
      Reading {what} …
    </p>
  );
}

interface Read {
  readonly isPending: boolean;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/** State of a read, shown until there is content. */
export function ReadState({ of, what }: { readonly of: Read; readonly what: string }) {
  if (of.error !== null) return <Failure error={of.error} retry={of.refetch} />;
  return of.isPending ? <Loading what={what} /> : null;
}
