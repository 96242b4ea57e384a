import { type ReactNode, useMemo, useState } from 'react';
import { saveFile } from '../api/run-file.ts';
import { formatCount, jsonText, plainText } from './format.ts';

/**
 * Characters that are shown at first, and after each "Show more". With more than the last number a browser's layout takes
 * seconds.
 */
const STEPS = [20_000, 100_000, 500_000] as const;

interface LongTextProps {
  readonly text: string;
  /** File name for "Download", without its extension. */
  readonly name: string;
  /** The end of a long text that is shown: the last one for a text that still grows. */
  readonly end?: 'first' | 'last';
  readonly className?: string;
  /** Whether a screen reader announces its growth. */
  readonly isLive?: boolean;
}

/** A text of any length: a part that the page can show, more on demand, and the whole as a file. */
export function LongText({ text, name, end = 'first', className, isLive = false }: LongTextProps) {
  const [step, setStep] = useState(0);
  const most = STEPS[step] ?? STEPS[0];
  const shown = useMemo(
    () => plainText(text.length <= most ? text : end === 'first' ? text.slice(0, most) : text.slice(-most)),
    [text, most, end],
  );
  return (
    <>
      <pre className={className} aria-live={isLive ? 'polite' : undefined} tabIndex={0}>
        {shown}
      </pre>
      {text.length > STEPS[0] && (
        <div className="long-foot quiet">
          {text.length > most && (
            <span>
              The {end} {formatCount(most)} of {formatCount(text.length)} characters.
            </span>
          )}
          {text.length > most && step < STEPS.length - 1 && (
            <button type="button" onClick={() => setStep(step + 1)}>
              Show more
            </button>
          )}
          <button type="button" onClick={() => saveFile(new Blob([text], { type: 'text/plain' }), `${name}.txt`)}>
            Download
          </button>
        </div>
      )}
    </>
  );
}

/** A value as JSON, of any size. */
export function LongJson({ value, ...rest }: Omit<LongTextProps, 'text'> & { readonly value: unknown }) {
  const text = useMemo(() => jsonText(value), [value]);
  return <LongText text={text} {...rest} />;
}

const CELL_CHARS = 400;

/** A text within a sentence or a table: its beginning, and the rest on demand. */
export function CellText({ text, name }: Pick<LongTextProps, 'text' | 'name'>): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  if (text.length <= CELL_CHARS) return plainText(text);
  if (isOpen) return <LongText text={text} name={name} />;
  return (
    <>
      {plainText(text.slice(0, CELL_CHARS))}…{' '}
      <button type="button" className="plain link" onClick={() => setIsOpen(true)}>
        Show more
      </button>
    </>
  );
}
