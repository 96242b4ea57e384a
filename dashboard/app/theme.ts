export type Theme = 'system' | 'light' | 'dark';

const KEY = 'svc-theme';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

/** What the user chose; `system` follows the operating system. */
export const chosenTheme = (): Theme => THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
