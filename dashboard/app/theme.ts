import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'svc-theme';
export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const listeners = new Set<() => void>();

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** What the user chose; `system` follows the operating system. */
const chosenTheme = (): Theme => THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';

export const useTheme = (): Theme => useSyncExternalStore(subscribe, chosenTheme);

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme();
  for (const listener of listeners) listener();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
