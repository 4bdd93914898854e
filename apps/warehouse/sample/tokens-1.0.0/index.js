export const accent = '#2b6cb0';
