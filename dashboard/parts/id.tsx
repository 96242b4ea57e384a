import { useState } from 'react';
import { plainLine } from './format.ts';

/** A short id with its whole text on hover, and a button that copies it. */
export function Id({ id, length = 8 }: { readonly id: string; readonly length?: number }) {
  const [copied, setCopied] = useState(false);
  const text = plainLine(id);
  return (
    <span className="id">
      <code title={text}>{text.length > length ? text.slice(0, length) : text}</code>
      <button
        type="button"
        className="copy"
        aria-label={`Copy ${text}`}
        onClick={(event) => {
          event.stopPropagation();
          navigator.clipboard.writeText(id).then(
            () => setCopied(true),
            () => setCopied(false),
          );
          setTimeout(() => setCopied(false), 1_200);
        }}
      >
        {copied ? (
          '✓'
        ) : (
          <svg viewBox="0 0 12 12" width="11" height="11" aria-hidden="true" fill="none" stroke="currentColor">
            <rect x="1.5" y="3.5" width="6" height="7" rx="1" />
            <path d="M4.5 3.5v-2h6v7h-3" />
          </svg>
        )}
      </button>
    </span>
  );
}
