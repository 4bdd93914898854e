import words from './words.js';
import { accent } from '@sample/tokens';

export const button = () => {
  const button = document.createElement('button');
  button.style.background = accent;
  button.textContent = words[process.env.LOCALE];
  return button;
};
