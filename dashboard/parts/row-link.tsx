import { useRouter } from '@tanstack/react-router';
import type { MouseEvent, ReactNode } from 'react';

/**
 * A link within a long list. It follows nothing and preloads nothing, so that a hundred of them cost little while the list
 * scrolls; the router's own links do both.
 */
export function RowLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const router = useRouter();
  const go = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    void router.navigate({ href });
  };
  return (
    <a href={href} onClick={go}>
      {children}
    </a>
  );
}
