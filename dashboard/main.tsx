import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './api/queries.ts';
import { CHOICES } from './app/choices.ts';
import { router } from './app/router.tsx';
import { startSession } from './app/session.ts';

for (const choice of CHOICES) choice.apply();
const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root element');
await startSession(() => {
  root.textContent = 'The node does not answer. Asking again …';
});
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
