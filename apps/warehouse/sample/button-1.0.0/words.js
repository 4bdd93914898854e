export default { 'de-DE': 'Kaufen', 'en-US': 'Buy', 'fr-FR': 'Acheter' };
