import { type ReactNode, useEffect } from 'react';
import { plainLine } from './format.ts';

/** Title of a page and its tab, with the actions of the page. */
export function PageHead({
  title,
  note,
  children,
}: {
  readonly title: string;
  readonly note?: ReactNode;
  readonly children?: ReactNode;
}) {
  const text = plainLine(title, 120);
  useEffect(() => {
    document.title = `${text} · svc`;
  }, [text]);
  return (
    <header className="page-head">
      <div className="page-title">
        <h1>{text}</h1>
        {note !== undefined && <span className="quiet">{note}</span>}
      </div>
      {children !== undefined && <div className="actions">{children}</div>}
    </header>
  );
}
