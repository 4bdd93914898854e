import { accent } from '@sample/tokens';

export const banner = (words) => `<p style="color: ${accent}">${words}</p>`;
